package client

import (
	"context"
	"errors"
	"iter"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// ServiceList is the catalogue of services: those of other clients, and this
// one's own, that the host lets this client see. It follows the host without
// polling, and survives reconnects.
type ServiceList struct {
	ch *Channel
}

// Services subscribes to the catalogue. Close the list when done.
func (c *Client) Services(ctx context.Context) (*ServiceList, error) {
	if _, _, err := c.serviceLink(ahp.MethodSubscribe); err != nil {
		return nil, err
	}
	ch, err := c.Subscribe(ctx, ahp.ClientServicesURI, SubscribeOptions{})
	if err != nil {
		return nil, err
	}
	return &ServiceList{ch}, nil
}

// Close ends the subscription. It returns nil always.
func (s *ServiceList) Close() error { return s.ch.Close() }

// Items returns the services in the order of their registration. The slice must
// not be modified.
func (s *ServiceList) Items() []ahp.ClientService { return servicesOf(s.ch.State()) }

func servicesOf(state any) []ahp.ClientService { return state.(*ahp.ClientServicesState).Services }

// Fresh reports whether the list is current. It is not while the connection is
// lost, nor until the host has sent it again afterwards.
func (s *ServiceList) Fresh() bool {
	c := s.ch.ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.freshLocked()
}

func (s *ServiceList) freshLocked() bool { return s.ch.ch.c.link != nil && s.ch.ch.phase == open }

// Wait waits for a service that match accepts and returns the one registered
// first. Match must be quick and must not call the client. The error is that of
// [Channel.Wait].
func (s *ServiceList) Wait(ctx context.Context, match func(ahp.ClientService) bool) (ahp.ClientService, error) {
	var found ahp.ClientService
	err := s.ch.wait(ctx, func() (bool, error) {
		if !s.freshLocked() {
			return false, s.ch.ch.err // what the list holds may be gone by now
		}
		for _, service := range servicesOf(s.ch.ch.machine.Optimistic()) {
			if match(service) {
				found = service
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

// ServiceUpdateKind says what a [ServiceUpdate] is.
type ServiceUpdateKind uint8

// The kinds of an update of the catalogue.
const (
	// ServicesListed: the catalogue as a whole. The first update of every range,
	// and again after every reconnect.
	ServicesListed ServiceUpdateKind = iota
	// ServiceSet: a service has come, or is described anew.
	ServiceSet
	// ServiceRemoved: a service is gone, or is not to be seen any more.
	ServiceRemoved
)

// ServiceUpdate is one change of the catalogue.
type ServiceUpdate struct {
	Kind ServiceUpdateKind
	// Services is the catalogue after the change. It must not be modified.
	Services []ahp.ClientService
	// Service is what came or went; of one that was not known, the id only.
	Service ahp.ClientService
	// ServerSeq is the host's number of the change or of the snapshot.
	ServerSeq uint64
	// Envelope is the change as the host sent it; nil for a whole catalogue.
	Envelope jsontext.Value
}

// Updates yields the catalogue and then every change, in order and each once. A
// loop that does not keep up gets the whole catalogue in place of what it missed.
// It ends with an error: the cause of ctx, ErrClosed, or why the channel ended.
func (s *ServiceList) Updates(ctx context.Context) iter.Seq2[ServiceUpdate, error] {
	return func(yield func(ServiceUpdate, error) bool) {
		var before []ahp.ClientService
		for u, err := range s.ch.Updates(ctx) {
			if errors.Is(err, ErrSlowReader) {
				continue
			}
			if err != nil {
				yield(ServiceUpdate{}, err)
				return
			}
			change, ok := serviceUpdate(u, before)
			before = change.Services
			if ok && !yield(change, nil) {
				return
			}
		}
	}
}

// serviceUpdate reads an update of the channel; ok is false for an action of an
// unknown type, which changes nothing.
func serviceUpdate(u Update, before []ahp.ClientService) (change ServiceUpdate, ok bool) {
	change = ServiceUpdate{Services: servicesOf(u.State), ServerSeq: u.ServerSeq, Envelope: u.Envelope}
	switch a := u.Action.(type) {
	case nil:
		return change, u.Kind == Snapshot
	case *ahp.ClientServiceSet:
		change.Kind, change.Service = ServiceSet, a.Service
		return change, true
	case *ahp.ClientServiceRemoved:
		change.Kind, change.Service = ServiceRemoved, ahp.ClientService{ServiceID: a.ServiceID}
		for _, service := range before {
			if service.ServiceID == a.ServiceID {
				change.Service = service
			}
		}
		return change, true
	}
	return change, false
}

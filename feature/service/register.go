package service

import (
	"context"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// register answers client/registerService. The id leaves before the catalogue
// shows it, so that no call overtakes it on its way to the owner.
func (f *Feature) register(_ context.Context, r *host.Request) jsonrpc.Reply {
	metadata, err := f.readMetadata(r.Params)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if !f.policy.MayRegister(r.Conn.Principal(), metadata) {
		return jsonrpc.Reply{Err: ahp.ErrPermissionDenied}
	}
	s := newService(r.Conn, metadata)
	if err := f.enrol(s); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	f.services.add(s, func() { r.Hold(nil).Answer(jsontext.Value(`{"serviceId":"`+s.id+`"}`), nil) })
	f.publish([]*service{s})
	f.log.Debug("service registered", "conn", r.Conn.ID())
	return jsonrpc.Reply{Taken: true}
}

// enrol notes a service with its connection and reserves its place.
func (f *Feature) enrol(s *service) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.partyLocked(s.owner)
	switch {
	case f.stopped:
		return limitError("the host is shutting down")
	case len(p.services) >= f.limits.ServicesPerConn:
		f.reached(limitPerConn)
		return limitError("the connection has as many services as it may")
	case f.enrolled >= f.limits.Services:
		f.reached(limitServices)
		return limitError("the host has as many services as it may")
	}
	f.enrolled++
	p.services = append(p.services, s)
	return nil
}

// readMetadata returns the metadata of a registration in the form it is kept in:
// without space, duplicate names or broken Unicode, since every observer will
// decode it.
func (f *Feature) readMetadata(params jsontext.Value) (jsontext.Value, error) {
	if err := checkChannel(params); err != nil {
		return nil, err
	}
	raw, _ := jsonrpc.Member(params, "metadata")
	switch {
	case raw.Kind() != '{':
		return nil, invalid("metadata must be an object")
	case len(raw) > f.limits.MetadataBytes:
		f.reached(limitMetadata)
		return nil, invalid("metadata is larger than %d bytes", f.limits.MetadataBytes)
	case deeper(raw, f.limits.Depth):
		f.reached(limitDepth)
		return nil, invalid("metadata is nested more than %d deep", f.limits.Depth)
	}
	metadata := raw.Clone()
	err := metadata.Format(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(false), jsontext.PreserveRawStrings(false))
	if err != nil {
		return nil, invalid("metadata has a name twice")
	}
	return metadata, nil
}

// unregister answers client/unregisterService. To who may not see a service it
// does not exist (R2).
func (f *Feature) unregister(_ context.Context, r *host.Request) jsonrpc.Reply {
	if err := checkChannel(r.Params); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	raw, _ := jsonrpc.Member(r.Params, "serviceId")
	id, ok := jsonrpc.StringBytes(raw)
	if !ok {
		return jsonrpc.Reply{Err: invalid("serviceId must be a string")}
	}
	s := f.services.get(id)
	switch {
	case s == nil || s.owner != r.Conn && !f.maySee(r.Conn.Principal(), s):
		return jsonrpc.Reply{Err: ahp.ErrNotFound}
	case s.owner != r.Conn:
		return jsonrpc.Reply{Err: ahp.ErrPermissionDenied}
	}
	f.remove([]*service{s})
	return jsonrpc.Reply{Result: struct{}{}}
}

// remove ends services of one connection: new calls are refused, those without
// an answer fail, later notifications are dropped (R4).
func (f *Feature) remove(list []*service) {
	if len(list) == 0 {
		return
	}
	f.services.remove(list)
	var open []*call
	f.mu.Lock()
	for _, s := range list {
		s.gone = true
		for c := range s.calls {
			open = append(open, c)
		}
		if p := f.parties[s.owner]; p != nil {
			p.services = without(p.services, s)
		}
	}
	f.enrolled -= len(list)
	f.mu.Unlock()
	cancelAll(open, errUnregistered)
	f.publish(list)
}

func without(list []*service, s *service) []*service {
	var rest []*service
	for _, x := range list {
		if x != s {
			rest = append(rest, x)
		}
	}
	return rest
}

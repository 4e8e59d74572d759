package service_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/go-json-experiment/json/jsontext"
)

// TestCatalogueHasNoGapAndNoDuplicate: while a thousand services are registered and
// half of them unregistered again on many connections, observers subscribe over
// and over. Each change follows from what its observer knows, and each snapshot is
// what the changes before it add up to (AHP core, 15.3, R5). Nothing here waits
// for anything but answers, so the race detector sees it as it is.
func TestCatalogueHasNoGapAndNoDuplicate(t *testing.T) {
	const owners, observers = 40, 3
	each := 1000 / owners
	if testing.Short() {
		each /= 4
	}
	w := newWorld(t, service.Options{}, host.Options{})
	var registering, observing sync.WaitGroup
	done := make(chan struct{})
	finals := make(chan []string, observers)
	for o := range observers {
		observing.Go(func() { finals <- observe(dialRaw(t, w, fmt.Sprint("o", o)), done) })
	}
	var mu sync.Mutex
	var alive []string
	for o := range owners {
		registering.Go(func() {
			c := dialRaw(t, w, fmt.Sprint("b", o))
			for i := range each {
				id := c.register()
				if i%2 == 0 {
					c.unregister(id)
				} else if o%2 == 0 {
					mu.Lock()
					alive = append(alive, id)
					mu.Unlock()
				}
			}
			if o%2 == 1 { // and half of them leave with all they have
				c.close()
			}
		})
	}
	registering.Wait()
	for w.f.Tables().Services > len(alive) { // until the host has noticed
		dialRaw(t, w, "p").close()
	}
	close(done)
	observing.Wait()
	slices.Sort(alive)
	for range observers {
		if got := <-finals; !slices.Equal(got, alive) {
			t.Errorf("an observer sees %d services in the end, want %d", len(got), len(alive))
		}
	}
}

// observe follows the catalogue, subscribing again and again, until done and then
// once more. It returns what it sees then.
func observe(c *raw, done <-chan struct{}) []string {
	for n := 0; ; n++ {
		last := false
		select {
		case <-done:
			last = true
		default:
		}
		c.request(ahp.MethodSubscribe, `{"channel":"ahp-client-services://"}`)
		if last {
			ids := slices.Sorted(maps.Keys(c.catalogue))
			c.close()
			return ids
		}
		if n%3 == 0 {
			c.write(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-client-services://"}}`)
			c.catalogue = nil // what is on its way is not for it any more
		}
	}
}

// raw is a client that reads in the order of the wire, on the goroutine of its
// user. It checks the catalogue as it goes.
type raw struct {
	t      *testing.T
	conn   transport.Conn
	lastID int

	catalogue map[string]bool // nil while it does not follow
	seq       uint64
}

func dialRaw(t *testing.T, w *world, name string) *raw {
	conn, err := w.dial(name, host.Local)
	if err != nil {
		t.Error(err)
	}
	c := &raw{t: t, conn: conn}
	c.request(ahp.MethodInitialize, fmt.Sprintf(`{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q}`, name))
	return c
}

func (c *raw) close() { _ = c.conn.Close(transport.CodeNormal, "") }

func (c *raw) write(msg string) {
	if err := c.conn.Write([][]byte{[]byte(msg)}); err != nil {
		c.t.Errorf("write: %v", err)
	}
}

// request sends a request and reads up to its answer.
func (c *raw) request(method, params string) (result jsontext.Value) {
	c.lastID++
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.lastID, method, params))
	for {
		data, err := c.conn.Read()
		if err != nil {
			c.t.Errorf("%s: %v", method, err)
			return nil
		}
		m, err := jsonrpc.Scan(data)
		switch {
		case err != nil:
			c.t.Errorf("%s: %v", data, err)
		case m.Kind == jsonrpc.KindNotification:
			c.change(m.Params)
		case m.Error != nil:
			c.t.Errorf("%s: %v", method, m.Error)
			return nil
		default:
			if method == ahp.MethodSubscribe {
				c.snapshot(m.Result)
			}
			return m.Result
		}
	}
}

func (c *raw) register() string {
	return member(string(c.request(ahp.MethodRegisterService, `{"metadata":{"n":1}}`)), "serviceId")
}

func (c *raw) unregister(id string) {
	c.request(ahp.MethodUnregisterService, fmt.Sprintf(`{"serviceId":%q}`, id))
}

// change applies an action: it must be newer than everything before, and change
// something.
func (c *raw) change(params jsontext.Value) {
	if c.catalogue == nil {
		return
	}
	var e ahp.ActionEnvelope
	if err := ahp.Unmarshal(params, &e); err != nil || e.ServerSeq <= c.seq {
		c.t.Errorf("after %d came %s: %v", c.seq, params, err)
		return
	}
	c.seq = e.ServerSeq
	switch a := e.Action.Action.(type) {
	case *ahp.ClientServiceSet:
		if c.catalogue[a.Service.ServiceID] {
			c.t.Errorf("%s is set twice", a.Service.ServiceID)
		}
		c.catalogue[a.Service.ServiceID] = true
	case *ahp.ClientServiceRemoved:
		if !c.catalogue[a.ServiceID] {
			c.t.Errorf("%s is removed and was not there", a.ServiceID)
		}
		delete(c.catalogue, a.ServiceID)
	}
}

// snapshot compares a snapshot with what was followed, and goes on from it.
func (c *raw) snapshot(result jsontext.Value) {
	state := member(string(result), "snapshot", "state")
	var s ahp.ClientServicesState
	if err := ahp.Unmarshal([]byte(state), &s); err != nil {
		c.t.Errorf("%s: %v", state, err)
	}
	shown := make(map[string]bool, len(s.Services))
	for _, x := range s.Services {
		shown[x.ServiceID] = true
	}
	if c.catalogue != nil && !maps.Equal(shown, c.catalogue) {
		c.t.Errorf("the snapshot has %d services, the changes add up to %d others", len(shown), len(c.catalogue))
	}
	from, err := strconv.ParseUint(member(string(result), "snapshot", "fromSeq"), 10, 64)
	if err != nil || from < c.seq {
		c.t.Errorf("fromSeq %d is older than %d: %v", from, c.seq, err)
	}
	c.catalogue, c.seq = shown, from
}

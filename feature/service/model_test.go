package service_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"pgregory.net/rapid"
)

// TestRelayAgainstModel plays random registrations, calls, answers, cancels,
// timeouts and disconnects over several connections against a model that says
// exactly what each of them is sent after each step. A call therefore completes
// once, no id reaches another service, and in the end every table is empty.
func TestRelayAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) { newRelayModel(t).play(t) })
	})
}

type relayModel struct {
	w        *world
	conns    []*modelConn // open ones
	services []*modelService
	calls    []*modelCall // open ones
	expect   map[*modelConn][]string
	names    int
	nonce    int
}

type modelConn struct {
	*peer
	lastHostID int
}

type modelService struct {
	id    string
	owner *modelConn
	alive bool
}

type modelCall struct {
	caller   *modelConn
	id       string // at the caller
	service  *modelService
	hostID   string // at the owner
	deadline time.Time
}

// tb lets a world be made for a rapid.T.
type tb struct {
	testing.TB
	rt *rapid.T
}

func (x tb) Helper()                           {}
func (x tb) Fatal(args ...any)                 { x.rt.Fatal(args...) }
func (x tb) Fatalf(format string, args ...any) { x.rt.Fatalf(format, args...) }
func (x tb) Errorf(format string, args ...any) { x.rt.Errorf(format, args...) }

func newRelayModel(t *rapid.T) *relayModel {
	w := makeWorld(t.Context(), tb{rt: t}, service.Options{}, host.Options{})
	return &relayModel{w: w, expect: make(map[*modelConn][]string)}
}

func (m *relayModel) play(t *rapid.T) {
	defer m.w.close()
	m.connect(t)
	t.Repeat(map[string]func(*rapid.T){
		"connect":    m.connect,
		"disconnect": m.disconnect,
		"register":   m.register,
		"unregister": m.unregister,
		"notify":     m.notify,
		"call":       m.call,
		"call ":      m.call, // more often
		"answer":     m.answer,
		"cancel":     m.cancel,
		"stray":      m.stray,
		"wait":       m.wait,
		"":           m.check,
	})
	for len(m.conns) > 0 {
		m.drop(m.conns[0])
		m.check(t)
	}
	synctest.Wait()
	if left := m.w.f.Tables(); left != (service.Tables{}) {
		t.Errorf("left in the tables: %+v", left)
	}
}

// check compares what everybody was sent, in any order: where several calls end
// by one event, their order is nobody's business.
func (m *relayModel) check(t *rapid.T) {
	synctest.Wait()
	for _, c := range m.conns {
		got, want := c.take(), m.expect[c]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s got\n\t%q\nwant\n\t%q", c.name, got, want)
		}
	}
	clear(m.expect)
	if got := m.w.f.CallsInFlight(); got != len(m.calls) {
		t.Fatalf("%d calls are in flight, want %d", got, len(m.calls))
	}
}

func (m *relayModel) due(c *modelConn, format string, args ...any) {
	if slices.Contains(m.conns, c) {
		m.expect[c] = append(m.expect[c], fmt.Sprintf(format, args...))
	}
}

func (m *relayModel) conn(t *rapid.T) *modelConn {
	if len(m.conns) == 0 {
		t.Skip("nobody is connected")
	}
	return rapid.SampledFrom(m.conns).Draw(t, "conn")
}

func (m *relayModel) service(t *rapid.T) *modelService {
	if len(m.services) == 0 {
		t.Skip("there never was a service")
	}
	return rapid.SampledFrom(m.services).Draw(t, "service")
}

func (m *relayModel) connect(t *rapid.T) {
	if len(m.conns) == 5 {
		t.Skip("enough")
	}
	m.names++
	m.conns = append(m.conns, &modelConn{peer: m.w.join(string(rune('a' + m.names%20)))})
}

func (m *relayModel) disconnect(t *rapid.T) { m.drop(m.conn(t)) }

func (m *relayModel) drop(c *modelConn) {
	c.close()
	m.conns = slices.DeleteFunc(m.conns, func(x *modelConn) bool { return x == c })
	for _, s := range m.services {
		if s.owner == c {
			s.alive = false
		}
	}
	m.endCalls(func(x *modelCall) bool {
		switch {
		case x.caller == c:
			m.due(x.service.owner, "%s", cancelMessage(x.hostID))
		case x.service.owner == c:
			m.due(x.caller, "%s", relayError(x.id, -31010, "client service unavailable", "disconnected"))
		default:
			return false
		}
		return true
	})
}

func (m *relayModel) endCalls(ends func(*modelCall) bool) { m.calls = slices.DeleteFunc(m.calls, ends) }

func (m *relayModel) register(t *rapid.T) {
	c := m.conn(t)
	s := &modelService{id: c.register(`{"protocol":"p"}`), owner: c, alive: true}
	if slices.ContainsFunc(m.services, func(x *modelService) bool { return x.id == s.id }) {
		t.Fatalf("service id %s was used again", s.id)
	}
	m.services = append(m.services, s)
}

func (m *relayModel) unregister(t *rapid.T) {
	s := m.service(t)
	if !s.alive {
		t.Skip("it is gone")
	}
	s.alive = false
	s.owner.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":999,"method":"client/unregisterService","params":{"serviceId":%q}}`, s.id))
	m.due(s.owner, `{"jsonrpc":"2.0","id":999,"result":{}}`)
	m.endCalls(func(x *modelCall) bool {
		if x.service != s {
			return false
		}
		m.due(s.owner, "%s", cancelMessage(x.hostID))
		m.due(x.caller, "%s", relayError(x.id, -31010, "client service unavailable", "unregistered"))
		return true
	})
}

func (m *relayModel) notify(t *rapid.T) {
	c, s := m.conn(t), m.service(t)
	m.nonce++
	c.send(notifyMessage(s.id, strconv.Itoa(m.nonce)))
	if s.alive {
		m.due(s.owner, `{"jsonrpc":"2.0","method":"clientService/notification","params":{"channel":"ahp-client-services://","serviceId":%q,"senderClientId":%q,"method":"m","params":%d}}`, s.id, c.name, m.nonce)
	}
}

func (m *relayModel) call(t *rapid.T) {
	c, s := m.conn(t), m.service(t)
	id := strconv.Itoa(rapid.IntRange(1, 6).Draw(t, "id"))
	m.nonce++
	c.send(callMessage(id, s.id, strconv.Itoa(m.nonce), `,"timeoutMs":100`))
	switch {
	case slices.ContainsFunc(m.calls, func(x *modelCall) bool { return x.caller == c && x.id == id }):
		m.due(c, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"a request with this id is in flight"}}`, id)
	case !s.alive:
		m.due(c, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32008,"message":"not found","data":{"relay":{"reason":"unknown-service","mayHaveExecuted":false}}}}`, id)
	default:
		s.owner.lastHostID++
		x := &modelCall{caller: c, id: id, service: s, hostID: strconv.Itoa(s.owner.lastHostID), deadline: time.Now().Add(100 * time.Millisecond)}
		m.calls = append(m.calls, x)
		m.due(s.owner, `{"jsonrpc":"2.0","id":%s,"method":"clientService/handleRequest","params":{"channel":"ahp-client-services://","serviceId":%q,"senderClientId":%q,"method":"m","params":%d}}`, x.hostID, s.id, c.name, m.nonce)
	}
}

func (m *relayModel) pending(t *rapid.T) *modelCall {
	if len(m.calls) == 0 {
		t.Skip("nothing is pending")
	}
	return rapid.SampledFrom(m.calls).Draw(t, "call")
}

func (m *relayModel) answer(t *rapid.T) {
	x := m.pending(t)
	m.nonce++
	answer := resultMessage(x.hostID, strconv.Itoa(m.nonce))
	x.service.owner.send(answer, answer) // the second completes nothing
	m.due(x.caller, "%s", resultMessage(x.id, strconv.Itoa(m.nonce)))
	m.endCalls(func(y *modelCall) bool { return x == y })
}

func (m *relayModel) cancel(t *rapid.T) {
	x := m.pending(t)
	x.caller.send(cancelMessage(x.id), cancelMessage(x.id))
	m.due(x.caller, "%s", relayError(x.id, -32800, "request cancelled", "cancelled"))
	m.due(x.service.owner, "%s", cancelMessage(x.hostID))
	m.endCalls(func(y *modelCall) bool { return x == y })
}

// stray sends answers and cancels that are nobody's.
func (m *relayModel) stray(t *rapid.T) {
	c := m.conn(t)
	for id := range 8 {
		text := strconv.Itoa(id)
		mine := func(x *modelCall) bool { return x.service.owner == c && x.hostID == text }
		asked := func(x *modelCall) bool { return x.caller == c && x.id == text }
		if !slices.ContainsFunc(m.calls, mine) {
			c.send(resultMessage(text, `"stray"`))
		}
		if !slices.ContainsFunc(m.calls, asked) {
			c.send(cancelMessage(text))
		}
	}
}

func (m *relayModel) wait(t *rapid.T) {
	m.check(t) // what was sent before is not late
	time.Sleep(time.Duration(rapid.IntRange(0, 60).Draw(t, "ms")) * time.Millisecond)
	synctest.Wait()
	m.endCalls(func(x *modelCall) bool {
		if x.deadline.After(time.Now()) {
			return false
		}
		m.due(x.caller, "%s", relayError(x.id, -31011, "client service did not answer in time", "timeout"))
		m.due(x.service.owner, "%s", cancelMessage(x.hostID))
		return true
	})
}

func relayError(id string, code int, message, reason string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"relay":{"reason":%q,"mayHaveExecuted":true}}}}`, id, code, message, reason)
}

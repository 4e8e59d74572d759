package service_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/causeway-ahp/causeway/journal"
)

// TestCallersWithTheSameIDsStayApart: two hundred callers use the ids 1 to 50, one
// service answers in random order, and every answer carries its caller's own
// nonce (AHP core, 15.9; R12).
func TestCallersWithTheSameIDsStayApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 200
		ids := scale.Count(50)
		w := newWorld(t, service.Options{Limits: service.Limits{CallsPerService: callers * ids}}, host.Options{Limits: host.Limits{RelayMessages: int64(callers * ids)}})
		owner := w.join("owner")
		id := owner.register(`{}`)
		w.policy.all()
		list := make([]*peer, callers)
		for i := range list {
			list[i] = w.join(fmt.Sprint("caller", i))
			for n := range ids {
				list[i].send(callMessage(strconv.Itoa(n+1), id, fmt.Sprintf(`"%d/%d"`, i, n+1), ""))
			}
		}
		asked := owner.take()
		if len(asked) != callers*ids {
			t.Fatalf("the owner was asked %d times, want %d", len(asked), callers*ids)
		}
		rand.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
		for _, m := range asked {
			owner.send(resultMessage(member(m, "id"), `"`+member(m, "params", "params")+`"`))
		}
		for i, caller := range list {
			got := caller.take()
			if len(got) != ids {
				t.Fatalf("caller %d has %d answers, want %d", i, len(got), ids)
			}
			for _, m := range got {
				if want := fmt.Sprint(i, "/", member(m, "id")); member(m, "result") != want {
					t.Fatalf("caller %d got %s for its call %s", i, member(m, "result"), want)
				}
			}
		}
		if n := w.f.CallsInFlight(); n != 0 {
			t.Errorf("%d calls are in flight", n)
		}
	})
}

// TestManyCallsLeaveNothingBehind: calls of which a third is cancelled and a third
// times out, answered late and in random order, leave no entry, and the
// connections live.
func TestManyCallsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service.Options{}, host.Options{})
		owner, caller := w.join("b"), w.join("a")
		id := owner.register(`{}`)
		const batch = 60
		var late []string
		for n := 0; n < scale.Count(10_000); n += batch {
			for i := range batch {
				caller.send(callMessage(strconv.Itoa(n+i), id, "0", `,"timeoutMs":50`))
			}
			asked := requests(owner.take())
			rand.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
			for i, m := range asked {
				if i%3 == 0 {
					owner.send(resultMessage(member(m, "id"), "1"))
				} else {
					late = append(late, member(m, "id"))
				}
			}
			for i := range batch / 3 {
				caller.send(cancelMessage(strconv.Itoa(n + 3*i)))
			}
			time.Sleep(50 * time.Millisecond)
			if got := caller.take(); len(got) != batch {
				t.Fatalf("%d answers to %d calls", len(got), batch)
			}
			for _, hostID := range late {
				owner.send(resultMessage(hostID, `"late"`))
			}
			late = late[:0]
		}
		if got := caller.take(); len(got) != 0 {
			t.Errorf("late answers came through: %q", got)
		}
		if got := w.f.Tables(); got != (service.Tables{Services: 1, Enrolled: 1, Parties: 2}) {
			t.Errorf("tables: %+v", got)
		}
		owner.take()
		caller.send(notifyMessage(id, "1"))
		if got := owner.take(); len(got) != 1 {
			t.Errorf("the link is dead: %q", got)
		}
	})
}

// requests leaves out what is no request, cancels above all.
func requests(msgs []string) []string {
	return slices.DeleteFunc(msgs, func(m string) bool { return member(m, "method") != ahp.MethodClientServiceHandle })
}

// TestCatalogueIsNeverStored: nothing of it reaches the store, and a host that
// restarts on the same store has none and knows no old id (AHP core, 15.3, R3).
func TestCatalogueIsNeverStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(recorder)
		first := makeWorld(t.Context(), t, service.Options{}, host.Options{Store: store})
		owner, observer := first.join("b"), first.join("o", ahp.ClientServicesURI)
		id := owner.register(`{"secret":"mark"}`)
		if got := observer.take(); len(got) != 1 || !strings.Contains(got[0], id) {
			t.Fatalf("the observer got %q", got)
		}
		observer.send(callMessage("1", id, `"mark"`, ""), notifyMessage(id, `"mark"`))
		owner.take()
		first.close()
		for _, r := range store.records() {
			if r.Kind != journal.Mark || len(r.Body) > 0 {
				t.Errorf("stored: %+v", r)
			}
		}
		second := newWorld(t, service.Options{}, host.Options{})
		observer = second.join("o")
		observer.send(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"channel":"ahp-client-services://"}}`, callMessage("2", id, "0", ""))
		got := observer.take()
		if len(got) != 2 || member(got[0], "result", "snapshot", "state", "services") != "[]" || member(got[1], "error", "code") != "-32008" {
			t.Errorf("after a restart: %q", got)
		}
	})
}

// recorder is a store that keeps what it is given.
type recorder struct {
	mu   sync.Mutex
	list []*journal.Record
}

func (r *recorder) Write(group []*journal.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, group...)
	return nil
}

func (r *recorder) Sync() error  { return nil }
func (r *recorder) Close() error { return nil }

func (r *recorder) records() []*journal.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}

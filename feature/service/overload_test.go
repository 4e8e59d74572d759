package service_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/reducer"
)

// sessions is a feature with nothing but a channel to dispatch to.
type sessions struct{}

func (sessions) Register(r *host.Registry) error {
	return r.Scheme(host.Scheme{
		Kind: ahp.KindSession, Reduce: reducer.Apply, HasEffect: func(ahp.Action) bool { return false },
		Validate: func(any, ahp.Action, host.Actor) string { return "" },
	})
}

func (sessions) Start(_ context.Context, h *host.Host) error {
	return h.Create("ahp-session:/s", reducer.New(ahp.KindSession), "")
}

func (sessions) Stop(context.Context) error { return nil }

// jammed is a world in which the owner of a service does not read, and a sender
// has sent it far more than it may keep.
type jammed struct {
	*world
	owner, sender, watcher *peer
	resume                 func()
	id                     string
	sent                   int
}

func newJam(t *testing.T) *jammed {
	t.Helper()
	j := &jammed{world: newWorld(t, service.Options{}, host.Options{Features: []host.Feature{sessions{}}})}
	j.owner, j.sender = j.join("b"), j.join("a")
	j.watcher = j.join("w", ahp.ClientServicesURI, "ahp-session:/s")
	j.id = j.owner.register(`{}`)
	j.watcher.take()
	j.resume = j.owner.stall()
	j.sent = 5000
	for n := range j.sent {
		j.sender.send(notifyMessage(j.id, `{"n":`+strconv.Itoa(n)+`,"text":"`+strings.Repeat("x", 1000)+`"}`))
	}
	synctest.Wait()
	return j
}

// TestOverloadCostsTheRecipientOnly: a recipient that does not read loses the
// newest notifications, which are counted and not answered. What waits for it is
// bounded, and the sender's other traffic goes on at once (AHP core, 15.6).
func TestOverloadCostsTheRecipientOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJam(t)
		began := time.Now()
		j.sender.send(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-session:/s","clientSeq":1,"action":{"type":"session/titleChanged","title":"x"}}}`)
		if got := j.watcher.take(); len(got) != 1 || time.Since(began) > 10*time.Millisecond {
			t.Errorf("after %v the watcher got %q", time.Since(began), got)
		}
		if got := j.sender.take(); len(got) != 1 { // the own echo
			t.Errorf("the sender got %q", got)
		}
		relayed, dropped := j.count(t, "notifications_relayed_total"), j.count(t, "notifications_dropped_total")
		if relayed+dropped != j.sent || dropped == 0 {
			t.Errorf("%d relayed and %d dropped of %d", relayed, dropped, j.sent)
		}

		j.resume()
		got := j.owner.take()
		if len(got) != relayed {
			t.Errorf("%d arrived of %d relayed", len(got), relayed)
		}
		for i, m := range got { // the newest were dropped: a prefix is left
			if member(m, "params", "params", "n") != strconv.Itoa(i) {
				t.Fatalf("at %d came %s", i, member(m, "params", "params", "n"))
			}
		}
		time.Sleep(time.Hour)
		if err := j.owner.ended(); err != nil {
			t.Errorf("a recipient that reads again was closed: %v", err)
		}
	})
}

// TestCallToAFullQueueFailsAtOnce with ClientServiceLimitExceeded (AHP core, 15.6).
func TestCallToAFullQueueFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJam(t)
		defer j.resume()
		j.sender.send(callMessage("1", j.id, "1", ""))
		got := j.sender.take()
		if len(got) != 1 || member(got[0], "error", "code") != "-31012" || member(got[0], "error", "data") != `{"relay":{"reason":"queue-full","mayHaveExecuted":false}}` {
			t.Errorf("got %q", got)
		}
		if n := j.f.CallsInFlight(); n != 0 {
			t.Errorf("%d calls are in flight", n)
		}
	})
}

// TestRecipientThatNeverReadsIsClosed after its queue has been full for 30 s. Its
// services go with it (AHP core, 15.6).
func TestRecipientThatNeverReadsIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJam(t)
		time.Sleep(30*time.Second - time.Millisecond)
		if got := j.watcher.take(); len(got) != 0 {
			t.Fatalf("too early: %q", got)
		}
		time.Sleep(time.Millisecond)
		if got := j.watcher.take(); len(got) != 1 || !strings.Contains(got[0], "clientService/removed") {
			t.Errorf("the watcher got %q", got)
		}
		j.resume()
		synctest.Wait()
		if err := j.owner.ended(); err == nil || !strings.Contains(err.Error(), "overflow") {
			t.Errorf("the owner's connection ended with %v", err)
		}
		if got := j.f.Tables(); got.Services != 0 {
			t.Errorf("tables: %+v", got)
		}
	})
}

// TestSlowRecipientIsNotClosed: a queue that is full again and again, but never for
// long, costs messages and no connection.
func TestSlowRecipientIsNotClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJam(t)
		for range 10 {
			j.resume()
			synctest.Wait()
			j.resume = j.owner.stall()
			for range 3000 {
				j.sender.send(notifyMessage(j.id, `"`+strings.Repeat("x", 1000)+`"`))
			}
			time.Sleep(20 * time.Second)
		}
		j.resume()
		synctest.Wait()
		if err := j.owner.ended(); err != nil {
			t.Errorf("the owner's connection ended with %v", err)
		}
	})
}

// TestCancelWithdrawsWhatHasNotLeft: a call that still waits for its recipient is
// taken back. The recipient hears of neither, and the caller learns that it cannot
// have run (AHP core, 15.5).
func TestCancelWithdrawsWhatHasNotLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service.Options{}, host.Options{})
		owner, sender := w.join("b"), w.join("a")
		id := owner.register(`{}`)
		resume := owner.stall()
		for range 600 { // more than its carrier holds
			sender.send(notifyMessage(id, `"`+strings.Repeat("x", 1000)+`"`))
		}
		sender.send(callMessage("1", id, `"one"`, ""), callMessage("2", id, `"two"`, ""), callMessage("3", id, `"three"`, `,"timeoutMs":1000`))
		sender.send(cancelMessage("1"))
		time.Sleep(time.Second)
		got := sender.take()
		want := []string{
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"request cancelled","data":{"relay":{"reason":"cancelled","mayHaveExecuted":false}}}}`,
			`{"jsonrpc":"2.0","id":3,"error":{"code":-31011,"message":"client service did not answer in time","data":{"relay":{"reason":"timeout","mayHaveExecuted":false}}}}`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("the caller got\n%q\nwant\n%q", got, want)
		}
		resume()
		asked := slices.DeleteFunc(owner.take(), func(m string) bool { return member(m, "method") == ahp.MethodClientServiceNotification })
		if len(asked) != 1 || member(asked[0], "params", "params") != "two" {
			t.Errorf("the owner was asked %q", asked)
		}
	})
}

// TestRate: with a rate, what is above it is dropped, a call refused; who stays
// above it for ten seconds is closed (AHP core, 15.6).
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service.Options{Limits: service.Limits{Rate: 10}}, host.Options{})
		owner, sender := w.join("b"), w.join("a")
		id := owner.register(`{}`)
		second := func(n int) (delivered int) {
			for range n {
				sender.send(notifyMessage(id, "1"))
			}
			time.Sleep(time.Second)
			return len(owner.take())
		}
		if n := second(10); n != 10 {
			t.Errorf("%d of 10 within the rate arrived", n)
		}
		if n := second(25); n != 10 {
			t.Errorf("%d of 25 arrived, want the 10 of the rate", n)
		}
		for range 30 { // at the rate for ever
			if n := second(10); n != 10 {
				t.Fatalf("%d of 10 within the rate arrived", n)
			}
		}
		for range 10 {
			sender.send(notifyMessage(id, "1"))
		}
		sender.send(callMessage("1", id, "1", ""))
		if got := sender.take(); len(got) != 1 || member(got[0], "error", "code") != "-31012" {
			t.Errorf("a call above the rate: %q", got)
		}
		seconds := 0
		for sender.ended() == nil && seconds < 20 {
			seconds++
			for range 200 { // far above, all the time
				time.Sleep(5 * time.Millisecond)
				_ = sender.conn.Write([][]byte{[]byte(notifyMessage(id, "1"))})
			}
			synctest.Wait()
		}
		if err := sender.ended(); err == nil || !strings.Contains(err.Error(), "flood") || seconds < 10 || seconds > 12 {
			t.Errorf("after %d s above the rate: %v", seconds, err)
		}
		if err := owner.ended(); err != nil {
			t.Errorf("the recipient was closed: %v", err)
		}
	})
}

// count returns the value of a counter of client services, all labels together.
func (w *world) count(t *testing.T, name string) int {
	t.Helper()
	families, err := w.h.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "causeway_client_services_"+name {
			total := 0.0
			for _, m := range f.GetMetric() {
				total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
			return int(total)
		}
	}
	t.Fatalf("no counter %s", name)
	return 0
}

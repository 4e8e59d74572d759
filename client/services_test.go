package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/internal/scale"
	"github.com/go-json-experiment/json/jsontext"
)

// register registers a handler with the real host.
func (w *world) register(c *client.Client, name string, h client.Handler) *client.Registration {
	w.t.Helper()
	return must(c.Register(w.t.Context(), map[string]string{"name": name}, h))(w.t)
}

func named(name string) func(ahp.ClientService) bool {
	return func(s ahp.ClientService) bool { return string(s.Metadata) == fmt.Sprintf(`{"name":%q}`, name) }
}

func idsOf(list []ahp.ClientService) []string {
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.ServiceID)
	}
	return ids
}

// TestTwoClientsWithNoSession discover, notify and call, several methods under one
// service (AHP core, 15.9).
func TestTwoClientsWithNoSession(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.dial("a", client.Options{ClientID: "ann"}), w.dial("b", client.Options{ClientID: "bob"})
		rung := make(chan string, 1)
		var m client.Methods
		client.OnNotify(&m, "ring", func(_ context.Context, from client.Sender, in string) { rung <- from.ClientID + " " + in })
		client.OnCall(&m, "double", func(_ context.Context, _ client.Sender, in int) (int, error) { return 2 * in, nil })
		client.OnCall(&m, "who", func(_ context.Context, from client.Sender, _ any) (string, error) { return from.ClientID, nil })
		client.OnCall(&m, "fail", func(context.Context, client.Sender, any) (any, error) {
			return nil, ahp.Errorf(7, "no").WithData(map[string]any{"relay": "forged", "why": 1})
		})
		r := w.register(a, "x", &m)

		list := must(b.Services(t.Context()))(t)
		defer list.Close()
		found := must(list.Wait(t.Context(), named("x")))(t)
		if found.ServiceID != r.ID() || found.ClientID != "ann" {
			t.Errorf("found %+v, want %s of ann", found, r.ID())
		}
		s := b.Service(found.ServiceID)
		if err := s.Notify(t.Context(), "ring", "hello"); err != nil {
			t.Fatal(err)
		}
		if got := <-rung; got != "bob hello" {
			t.Errorf("the service heard %q", got)
		}
		if got, err := client.CallService[int](t.Context(), s, "double", 21); got != 42 || err != nil {
			t.Errorf("double: %d, %v", got, err)
		}
		if got, err := client.CallService[string](t.Context(), s, "who", nil); got != "bob" || err != nil {
			t.Errorf("who: %q, %v", got, err)
		}
		err := s.Call(t.Context(), "fail", nil, nil)
		var failed *client.CallError
		var wire *ahp.Error
		if !errors.As(err, &failed) || !errors.As(err, &wire) || !failed.FromService() || wire.Code != 7 || string(wire.Data) != `{"why":1}` {
			t.Errorf("fail: %v, want the service's own error with its data", err)
		}
		wantErr(t, "stale", b.Service("never").Call(t.Context(), "m", nil, nil), client.ErrServiceNotFound)
	})
}

// TestHandlerContextEnds when the caller cancels, times out or leaves, and when
// the service or its client is closed.
func TestHandlerContextEnds(t *testing.T) {
	for name, end := range map[string]func(caller *client.Client, cancel func(), r *client.Registration, owner *client.Client){
		"cancelled":      func(_ *client.Client, cancel func(), _ *client.Registration, _ *client.Client) { cancel() },
		"timed out":      func(*client.Client, func(), *client.Registration, *client.Client) { time.Sleep(time.Minute) },
		"caller left":    func(caller *client.Client, _ func(), _ *client.Registration, _ *client.Client) { caller.Close() },
		"service closed": func(_ *client.Client, _ func(), r *client.Registration, _ *client.Client) { r.Close() },
		"owner closed":   func(_ *client.Client, _ func(), _ *client.Registration, owner *client.Client) { owner.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				owner, caller := w.dial("a", client.Options{}), w.dial("b", client.Options{})
				began, ended := make(chan struct{}), make(chan struct{})
				r := w.register(owner, "x", handler{call: func(ctx context.Context, _ client.Sender, _ string, _ jsontext.Value) (any, error) {
					close(began)
					<-ctx.Done()
					close(ended)
					return nil, context.Cause(ctx)
				}})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error)
				go func() { done <- caller.Service(r.ID()).Call(ctx, "m", nil, nil) }()
				<-began
				end(caller, cancel, r, owner)
				<-ended
				err := <-done
				var failed *client.CallError
				if !errors.As(err, &failed) || !failed.MayHaveExecuted {
					t.Errorf("call: %v, want one that may have been executed", err)
				}
				synctest.Wait()
				if n := r.Stats().Calls; n != 0 {
					t.Errorf("%d calls are running", n)
				}
			})
		})
	}
}

// TestServiceIsRegisteredAgain after a reconnect, under a new id; the old one
// reaches nobody, and an observer sees both changes (R3).
func TestServiceIsRegisteredAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		owner, observer := w.dial("owner", client.Options{}), w.dial("observer", client.Options{})
		list := must(observer.Services(t.Context()))(t)
		defer list.Close()
		var m client.Methods
		client.OnCall(&m, "m", func(context.Context, client.Sender, any) (string, error) { return "here", nil })
		r := w.register(owner, "x", &m)
		first := r.ID()
		var statuses []client.RegistrationStatus
		var watching sync.WaitGroup
		watching.Go(func() {
			for s := range r.Updates(t.Context()) {
				statuses = append(statuses, s)
			}
		})
		synctest.Wait()
		w.link("owner").Cut()
		found := must(list.Wait(t.Context(), func(s ahp.ClientService) bool { return s.ServiceID != first }))(t)
		for s := range r.Updates(t.Context()) {
			if s.Times == 2 {
				break
			}
		}
		if got := idsOf(list.Items()); !slices.Equal(got, []string{r.ID()}) || found.ServiceID != r.ID() {
			t.Errorf("the catalogue is %v, want only %s", got, r.ID())
		}
		wantErr(t, "old id", observer.Service(first).Call(t.Context(), "m", nil, nil), client.ErrServiceNotFound)
		if got, err := client.CallService[string](t.Context(), observer.Service(r.ID()), "m", nil); got != "here" || err != nil {
			t.Errorf("new id: %q, %v", got, err)
		}
		synctest.Wait()
		r.Close()
		watching.Wait()
		if n := len(statuses); n < 2 || statuses[0].ID != first || statuses[n-1].ID != found.ServiceID || statuses[n-1].Times != 2 {
			t.Errorf("statuses %+v", statuses)
		}
		synctest.Wait()
		if got := list.Items(); len(got) != 0 {
			t.Errorf("the catalogue is %v after the end of the service", got)
		}
	})
}

// TestObserverComesBack: after a replay the catalogue is fresh one round trip
// later, whatever happened meanwhile (R8).
func TestObserverComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		owner, observer := w.dial("owner", client.Options{}), w.dial("observer", client.Options{BackoffMin: time.Second})
		gone, stays := w.register(owner, "gone", &client.Methods{}), w.register(owner, "stays", &client.Methods{})
		synctest.Wait() // the host answers before its catalogue shows them
		list := must(observer.Services(t.Context()))(t)
		defer list.Close()
		updates := make(chan client.ServiceUpdate, 16)
		var watching sync.WaitGroup
		watching.Go(func() {
			for u, err := range list.Updates(t.Context()) {
				if err != nil {
					return
				}
				updates <- u
			}
		})
		if u := <-updates; u.Kind != client.ServicesListed || len(u.Services) != 2 {
			t.Errorf("first update %+v", u)
		}
		w.link("observer").Cut()
		waitState(t, observer, client.Reconnecting)
		if list.Fresh() {
			t.Error("the list counts as fresh without a connection")
		}
		gone.Close()
		came := w.register(owner, "came", &client.Methods{})
		waitState(t, observer, client.Live)
		if s := observer.Stats(); s.Replays != 1 {
			t.Errorf("%d replays, want one", s.Replays)
		}
		u := <-updates
		if want := []string{stays.ID(), came.ID()}; u.Kind != client.ServicesListed || !slices.Equal(idsOf(u.Services), want) || !list.Fresh() {
			t.Errorf("after the reconnect: %+v, want %v", u, want)
		}
		stays.Close()
		if u := <-updates; u.Kind != client.ServiceRemoved || string(u.Service.Metadata) != `{"name":"stays"}` || len(u.Services) != 1 {
			t.Errorf("removal: %+v", u)
		}
		list.Close()
		watching.Wait()
	})
}

// TestHostRestarts: the catalogue is empty, old ids mean nothing, and services
// come back under new ones.
func TestServicesAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		owner, observer := w.dial("owner", client.Options{}), w.dial("observer", client.Options{})
		r := w.register(owner, "x", &client.Methods{})
		first := r.ID()
		list := must(observer.Services(t.Context()))(t)
		defer list.Close()
		w.kill("owner", "observer")
		synctest.Wait()
		if r.ID() != "" {
			t.Errorf("the service has id %s without a connection", r.ID())
		}
		w.start()
		found := must(list.Wait(t.Context(), named("x")))(t)
		if found.ServiceID == first || len(list.Items()) != 1 {
			t.Errorf("found %+v beside %v, want one service with a new id", found, list.Items())
		}
		wantErr(t, "old id", observer.Service(first).Call(t.Context(), "m", nil, nil), client.ErrServiceNotFound)
	})
}

// TestRegisteringAgainIsRefused: the client says so, goes on trying and succeeds
// when the host lets it.
func TestRegisteringAgainIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		owner, other := w.dial("owner", client.Options{BackoffMin: 10 * time.Second}), w.dial("other", client.Options{})
		r := w.register(owner, "x", &client.Methods{})
		w.stop()
		w.services.Limits = service.Limits{Services: 1}
		w.start()
		waitState(t, other, client.Live)
		blocking := w.register(other, "y", &client.Methods{})
		var refused bool
		for s := range r.Updates(t.Context()) {
			if s.Err != nil && !refused {
				refused = true
				wantErr(t, "status", s.Err, ahp.ErrClientServiceLimitExceeded)
				go blocking.Close()
			}
			if refused && s.ID != "" {
				if s.Err != nil || s.Times != 2 {
					t.Errorf("status %+v after all", s)
				}
				break
			}
		}
	})
}

// TestCatalogueRace: 1,000 registrations during subscriptions; no observer misses
// or doubles one (R5).
func TestObserversDuringRegistrations(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		total := scale.Count(1000)
		var owners []*client.Client
		for i := range (total + 31) / 32 {
			owners = append(owners, w.dial(fmt.Sprintf("owner%d", i), client.Options{}))
		}
		var work sync.WaitGroup
		var mu sync.Mutex
		var registered []string
		for i, c := range owners {
			work.Go(func() {
				for range min(32, total-32*i) {
					r, err := c.Register(t.Context(), map[string]int{}, &client.Methods{})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					registered = append(registered, r.ID())
					mu.Unlock()
				}
			})
		}
		for i := range 8 {
			observer := w.dial(fmt.Sprintf("observer%d", i), client.Options{})
			work.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				watchAll(t, observer, total)
			})
		}
		work.Wait()
		slices.Sort(registered)
		if n := len(slices.Compact(registered)); n != total {
			t.Errorf("%d ids for %d services", n, total)
		}
	})
}

// watchAll follows the catalogue until it holds a number of services, and checks
// that each was heard of once.
func watchAll(t *testing.T, c *client.Client, total int) {
	list, err := c.Services(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	defer list.Close()
	heard := make(map[string]int)
	for u, err := range list.Updates(t.Context()) {
		if err != nil {
			t.Error(err)
			return
		}
		if u.Kind == client.ServicesListed {
			for _, id := range idsOf(u.Services) {
				heard[id]++
			}
		} else {
			heard[u.Service.ServiceID]++
		}
		if len(u.Services) == total {
			break
		}
	}
	for id, n := range heard {
		if n != 1 {
			t.Errorf("heard %d times of %s", n, id)
		}
	}
	if len(heard) != total {
		t.Errorf("heard of %d services, want %d", len(heard), total)
	}
}

// TestSimultaneousCallers with equal ids of their own get their own answers
// (case 75).
func TestSimultaneousCallers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var m client.Methods
		client.OnCall(&m, "echo", func(_ context.Context, from client.Sender, in int) (string, error) {
			time.Sleep(time.Duration(in*7919%50) * time.Millisecond) // answers come in another order
			return fmt.Sprintf("%s %d", from.ClientID, in), nil
		})
		r := w.register(w.dial("owner", client.Options{}), "x", &m)
		var work sync.WaitGroup
		for i := range scale.Count(200) {
			name := fmt.Sprintf("caller%d", i)
			c := w.dial(name, client.Options{ClientID: name})
			work.Go(func() {
				for n := range 10 {
					got, err := client.CallService[string](t.Context(), c.Service(r.ID()), "echo", n)
					if want := fmt.Sprintf("%s %d", name, n); err != nil || got != want {
						t.Errorf("got %q, %v, want %q", got, err, want)
					}
				}
			})
		}
		work.Wait()
	})
}

// TestStreamOfNotifications keeps its order and waits for room here instead of
// failing; what the host or the service does not keep up with is dropped from the
// end.
func TestStreamOfNotifications(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		total := 20_000
		last, heard, done := -1, 0, make(chan struct{})
		var m client.Methods
		client.OnNotify(&m, "n", func(_ context.Context, _ client.Sender, in int) {
			if in <= last {
				t.Errorf("heard %d after %d", in, last)
			}
			last = in
			heard++
		})
		client.OnCall(&m, "end", func(context.Context, client.Sender, any) (any, error) { close(done); return nil, nil })
		r := w.register(w.dial("owner", client.Options{}), "x", &m)
		s := w.dial("sender", client.Options{}).Service(r.ID())
		for i := range total {
			if err := s.Notify(t.Context(), "n", i); err != nil {
				t.Fatal(err)
			}
		}
		for err := error(client.ErrServiceLimit); errors.Is(err, client.ErrServiceLimit); time.Sleep(time.Millisecond) {
			if err = s.Call(t.Context(), "end", nil, nil); err != nil && !errors.Is(err, client.ErrServiceLimit) {
				t.Fatal(err)
			}
		}
		<-done
		t.Logf("%d of %d heard, %d dropped by the service's client", heard, total, r.Stats().Dropped)
		if heard == 0 || heard+int(r.Stats().Dropped) > total {
			t.Errorf("%d heard of %d", heard, total)
		}
	})
}

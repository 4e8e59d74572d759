package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Field cases of group E, by their numbers in docs/CASES.md. Those about bytes
// and connections are tested in package webhook.

// TestCase115AttemptsAreOneNotification: one id and the same bytes, and the number
// of the attempt beside them.
func TestCase115AttemptsAreOneNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		b.box.answer("one", transient, transient, delivered)
		r := b.finish(b.admit(toOne), fine)
		time.Sleep(time.Hour)
		posts := b.box.posts("one")
		if len(posts) != 3 {
			t.Fatalf("%d attempts, want 3", len(posts))
		}
		for i, p := range posts {
			if p.ID != r.Notifications[0] || p.Attempt != i+1 || string(p.Body) != string(posts[0].Body) {
				t.Errorf("attempt %d: id %s, number %d, body %s", i+1, p.ID, p.Attempt, p.Body)
			}
			if !strings.Contains(string(p.Body), p.ID) {
				t.Errorf("the body does not hold its id: %s", p.Body)
			}
		}
	})
}

// TestCase125SlowReceiversBlockNobody has 50 endpoints that answer and three black
// holes, while calls go on.
func TestCase125SlowReceiversBlockNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Limits = Limits{Endpoints: 100, PendingItems: 10_000} })
		defer b.stop()
		for i := range 3 {
			b.box.slow(fmt.Sprint("hole", i), time.Hour)
		}
		for range 20 {
			for i := range 3 {
				b.finish(b.admit(routes(route("a", fmt.Sprint("hole", i), "completed"))), fine)
			}
			for i := range 50 {
				fired := time.Now()
				name := fmt.Sprint("good", i)
				b.finish(b.admit(routes(route("a", name, "completed"))), fine)
				synctest.Wait()
				posts := b.box.posts(name)
				if len(posts) == 0 || !posts[len(posts)-1].at.Equal(fired) {
					t.Fatalf("%s was not told at once", name)
				}
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// TestCase127And128OrderOnRequest: with ordering "call" the next item waits for
// the one before, and follows the moment it has arrived.
func TestCase127And128OrderOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		b.box.slow("one", 300*time.Millisecond)
		b.box.answer("one", transient, delivered)
		c := b.admit(`{"routes":[{"id":"a","type":"webhook","endpoint":"one","triggers":["io.github.causeway-ahp/auth_required","completed"],"options":{"ordering":"call"}}]}`)
		b.fireExtra(c, AuthRequired)
		synctest.Wait()
		b.finish(c, fine)
		time.Sleep(time.Minute)
		posts := b.box.posts("one")
		if got := b.triggers(); !slices.Equal(got, []string{string(AuthRequired), string(AuthRequired), "completed"}) {
			t.Fatalf("got %v", got)
		}
		if gap := posts[2].at.Sub(posts[1].at); gap < 300*time.Millisecond || gap > 400*time.Millisecond {
			t.Errorf("the second item followed %v after the first, want at once after its 300 ms", gap)
		}
		if seq(t, posts[2]) <= seq(t, posts[1]) {
			t.Error("sequence numbers do not rise")
		}
	})
}

// fireExtra fires a vendor trigger of a call, as an edge that knows it would.
func (b *bench) fireExtra(c *Call, trigger Trigger) {
	b.t.Helper()
	var fired []*delivery
	err := b.update(b.t.Context(), func(tx Tx) error {
		rec, err := get[call](tx, Calls, c.ID())
		if err != nil {
			return err
		}
		if fired, err = b.fire(tx, rec, item{trigger: trigger, fired: time.Now()}, nil); err != nil {
			return err
		}
		return putCall(tx, rec)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.start(fired)
}

func seq(t *testing.T, p posted) int64 {
	t.Helper()
	var body payload
	if err := json.Unmarshal(p.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Data.Seq
}

// TestCase127SequenceWithoutOrder: by default nothing waits, and the receiver can
// sort.
func TestCase127SequenceWithoutOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		b.box.answer("one", transient, delivered)
		c := b.admit(routes(route("a", "one", string(AuthRequired), "completed")))
		b.fireExtra(c, AuthRequired)
		synctest.Wait()
		b.finish(c, fine)
		time.Sleep(time.Minute)
		posts := b.box.posts("one")
		if len(posts) != 3 || seq(t, posts[1]) != 2 || seq(t, posts[2]) != 1 {
			t.Errorf("got %v", b.triggers())
		}
	})
}

// TestCase129RestartWithMuchQueued stops an engine with a hundred items queued
// behind the limiter and a few on their way.
func TestCase129RestartWithMuchQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newBench(t, func(o *Options) { o.Limits.ActiveCalls = 200 })
		first.box.slow("one", 2*time.Second)
		want := make(map[string]bool)
		for range 105 {
			r := first.finish(first.admit(toOne), fine)
			want[r.Notifications[0]] = true
		}
		synctest.Wait()
		if n := len(first.box.posts("")); n == 0 || n == 105 {
			t.Fatalf("%d on their way, the test proves nothing", n)
		}
		first.stop()
		for _, it := range first.items(ItemQuery{Limit: 1000}) {
			if it.State != "pending" && it.State != "delivered" {
				t.Errorf("%s is %s, want pending or delivered", it.ID, it.State)
			}
		}
		second := newBench(t, func(o *Options) { o.Store = first.store })
		defer second.stop()
		time.Sleep(time.Minute)
		for _, p := range slices.Concat(first.box.posts(""), second.box.posts("")) {
			delete(want, p.ID)
		}
		if len(want) != 0 {
			t.Errorf("%d never arrived", len(want))
		}
		if left := second.items(ItemQuery{State: "pending"}); len(left) != 0 {
			t.Errorf("%d are still pending", len(left))
		}
	})
}

// TestCase132RegistrationIsAskedAtSendTime changes it between two attempts.
func TestCase132RegistrationIsAskedAtSendTime(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *bench){
		"disabled": func(t *testing.T, b *bench) {
			list, err := b.Desk().Endpoints(t.Context(), "")
			if err != nil || len(list) != 1 {
				t.Fatalf("endpoints %+v, %v", list, err)
			}
			if err := b.Desk().SetEndpoint(t.Context(), list[0].ID, false); err != nil {
				t.Fatal(err)
			}
		},
		"principal revoked": func(_ *testing.T, b *bench) { b.revoke() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				revoked := false
				b := newBench(t, func(o *Options) {
					o.Authorized = func(string) bool {
						mu.Lock()
						defer mu.Unlock()
						return !revoked
					}
				})
				b.revoke = func() {
					mu.Lock()
					defer mu.Unlock()
					revoked = true
				}
				defer b.stop()
				b.box.answer("one", transient)
				b.finish(b.admit(toOne), fine)
				synctest.Wait()
				change(t, b)
				time.Sleep(time.Hour)
				if n := len(b.box.posts("one")); n != 1 {
					t.Errorf("%d attempts, want the one before", n)
				}
				if dead := b.items(ItemQuery{State: "dead"}); len(dead) != 1 || dead[0].Reason != DeadDisabled {
					t.Errorf("dead letters %+v", dead)
				}
			})
		})
	}
}

func TestCase132RemovedInstallationSendsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		b.box.answer("one", transient)
		in := b.install("session", toOne)
		b.event(Event{Position: 1, Call: "c", Trigger: Completed, End: fine})
		synctest.Wait()
		if err := b.Remove(t.Context(), "bob", in.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("another principal: %v, want ErrNotFound", err)
		}
		if err := b.Remove(t.Context(), "alice", in.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := len(b.box.posts("one")); n != 1 {
			t.Errorf("%d attempts, want the one before", n)
		}
	})
}

// TestCase132NewSecretIsUsed rotates the key between two attempts.
func TestCase132NewSecretIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets := NewMemorySecrets()
		ctx := t.Context()
		put := func(text string) {
			if err := RotateKey(ctx, secrets, "alice", "hook", NewSecret(text)); err != nil {
				t.Fatal(err)
			}
		}
		b := newBench(t, func(o *Options) { o.Secrets = secrets })
		defer b.stop()
		c := credentialsOf{b.Engine, "alice", "hook"}
		signing := func() string {
			keys, err := c.Signing(ctx)
			if err != nil {
				return err.Error()
			}
			var list []string
			for _, k := range keys {
				list = append(list, k.Reveal())
			}
			return strings.Join(list, " ")
		}
		for _, step := range []struct {
			do   func()
			want string
		}{
			{func() {}, ErrNoSecret.Error()},
			{func() { put("k1") }, "k1"},
			{func() { put("k2") }, "k2 k1"},
			{func() { time.Sleep(23 * time.Hour) }, "k2 k1"},
			{func() { put("k3") }, "k3 k2"},
			{func() { time.Sleep(25 * time.Hour) }, "k3"},
		} {
			step.do()
			if got := signing(); got != step.want {
				t.Errorf("signs with %q, want %q", got, step.want)
			}
		}
	})
}

// TestCase133GoneAndRetryAfter: 410 ends an endpoint at once; 429 pauses the whole
// target for as long as it asks, within a day.
func TestCase133GoneAndRetryAfter(t *testing.T) {
	t.Run("gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.stop()
			b.box.answer("one", Outcome{Class: ClassPermanent, Disable: true, Status: 410, Category: "http_4xx"})
			b.finish(b.admit(toOne), fine)
			time.Sleep(time.Hour)
			if bad := b.refusal(toOne, alice); bad.Rejected[0].Reason != RouteDisabled {
				t.Errorf("the next call: %+v", bad)
			}
			if dead := b.items(ItemQuery{State: "dead"}); len(dead) != 1 || dead[0].Reason != DeadDisabled || len(b.box.posts("")) != 1 {
				t.Errorf("dead letters %+v, %d attempts", dead, len(b.box.posts("")))
			}
		})
	})
	for asked, want := range map[time.Duration]time.Duration{2 * time.Minute: 2 * time.Minute, time.Second: 5 * time.Second, 72 * time.Hour: 24 * time.Hour} {
		t.Run(fmt.Sprint("again in ", asked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, slowPoll)
				defer b.stop()
				start := time.Now()
				b.box.answer("one", Outcome{Class: ClassTransient, Status: 429, RetryAfter: start.Add(asked), PauseTarget: true}, delivered)
				b.finish(b.admit(toOne), fine)
				synctest.Wait()
				b.finish(b.admit(toOne), fine) // another item waits as well
				time.Sleep(100 * time.Hour)
				posts := b.box.posts("one")
				if len(posts) != 3 {
					t.Fatalf("%d attempts, want 3", len(posts))
				}
				if got := posts[2].at.Sub(start); got != want {
					t.Errorf("tried again after %v, want %v", got, want)
				}
				if got := posts[1].at.Sub(start); got < min(asked, 24*time.Hour) {
					t.Errorf("the other item went out after %v", got)
				}
			})
		})
	}
}

// TestCase135BreakerBoundsAttempts sends a thousand events to a dead endpoint, and
// lets it come back.
func TestCase135BreakerBoundsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Limits = Limits{PendingItems: 5000} })
		defer b.stop()
		b.box.answer("one", transient)
		for range 1000 {
			b.finish(b.admit(toOne), fine)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		posts := b.box.posts("one")
		for i := range posts {
			n := 0
			for _, p := range posts[i:] {
				if p.at.Sub(posts[i].at) < time.Minute {
					n++
				}
			}
			if n > 10 {
				t.Fatalf("%d attempts in the minute from %v on", n, posts[i].at)
			}
		}
		b.box.answer("one", delivered)
		back := time.Now()
		before := len(posts)
		time.Sleep(breakerMost + time.Minute)
		posts = b.box.posts("one")
		if len(posts) == before || posts[before].at.Sub(back) > breakerMost {
			t.Errorf("nothing within one probe interval after it came back")
		}
		time.Sleep(time.Hour)
		if left := b.items(ItemQuery{State: "pending"}); len(left) != 0 {
			t.Errorf("%d are still pending", len(left))
		}
	})
}

// TestCase136OneWorkPerNotification: the healthy endpoints get one copy each,
// however often the dead one is tried.
func TestCase136OneWorkPerNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		b.box.answer("dead", transient)
		for _, name := range []string{"one", "dead", "two"} {
			b.install("session", strings.ReplaceAll(toOne, `"one"`, `"`+name+`"`))
		}
		b.event(Event{Position: 1, Call: "c", Trigger: Completed, End: fine})
		time.Sleep(time.Hour)
		if one, two, dead := len(b.box.posts("one")), len(b.box.posts("two")), len(b.box.posts("dead")); one != 1 || two != 1 || dead < 3 {
			t.Errorf("got %d, %d and %d attempts", one, two, dead)
		}
	})
}

// faultyStore refuses commits while it is told to.
type faultyStore struct {
	Store
	mu  sync.Mutex
	err error
}

func (s *faultyStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *faultyStore) Update(ctx context.Context, fn func(Tx) error) error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.Store.Update(ctx, fn)
}

// TestCase137StoreThatRefuses: the failure is loud, the call is not promised what
// cannot be kept, and what was promised is told after recovery.
func TestCase137StoreThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left")
		store := &faultyStore{Store: NewMemoryStore()}
		b := newBench(t, func(o *Options) { o.Store = store })
		defer b.stop()
		c := b.admit(toOne)
		store.fail(full)
		if _, err := c.Finish(t.Context(), fine); !errors.Is(err, full) {
			t.Errorf("finish: %v, want the store's error", err)
		}
		if _, err := b.Admit(t.Context(), mustParse(t, toOne), Request{Caller: alice}); !errors.Is(err, full) {
			t.Errorf("admit: %v, want the store's error", err)
		}
		if err := b.Health(t.Context()); !errors.Is(err, full) {
			t.Errorf("health: %v, want the store's error", err)
		}
		store.fail(nil)
		b.finish(c, fine)
		synctest.Wait()
		if got := b.triggers(); !slices.Equal(got, []string{"completed"}) {
			t.Errorf("got %v", got)
		}
		if err := b.Health(t.Context()); err != nil {
			t.Errorf("health after recovery: %v", err)
		}
	})
}

// TestCase137AttemptIsRecordedLater: the endpoint has taken the item while the
// store refused; it is not sent again.
func TestCase137AttemptIsRecordedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultyStore{Store: NewMemoryStore()}
		b := newBench(t, func(o *Options) { o.Store = store })
		defer b.stop()
		b.box.slow("one", time.Second)
		b.finish(b.admit(toOne), fine)
		synctest.Wait()
		store.fail(errors.New("no space left"))
		time.Sleep(time.Minute)
		store.fail(nil)
		time.Sleep(time.Minute)
		if items := b.items(ItemQuery{}); len(items) != 1 || items[0].State != "delivered" || len(b.box.posts("one")) != 1 {
			t.Errorf("items %+v, %d attempts", items, len(b.box.posts("one")))
		}
	})
}

func mustParse(t *testing.T, config string) *Config {
	t.Helper()
	c, err := ParseConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *bench) install(scope, config string) Installation {
	b.t.Helper()
	in, err := b.Install(b.t.Context(), mustParse(b.t, config), InstallRequest{Caller: alice, Scope: scope, Source: "log"})
	if err != nil {
		b.t.Fatal(err)
	}
	return in
}

// event fires an event of the scope "session" that happens now.
func (b *bench) event(ev Event) {
	b.t.Helper()
	ev.Source, ev.Scopes, ev.At, ev.Tool = "log", []string{"session"}, time.Now(), "build"
	if err := b.Fire(b.t.Context(), ev); err != nil {
		b.t.Fatal(err)
	}
}

func TestEventsOfALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		subject := jsontext.Value(`{"chat":"ahp-chat:/1","toolCallId":"t"}`)
		b.event(Event{Position: 5, Call: "before", Trigger: Completed, End: fine})
		in, err := b.Install(t.Context(), mustParse(t, routes(route("a", "one", "completed", "streaming", "cancelled"))), InstallRequest{
			Caller: alice, Scope: "session", Source: "log", Position: 5, TTL: time.Hour,
			Filter: Filter{Tools: []string{"bu*"}, MinDuration: 10 * time.Second},
		})
		if err != nil || in.ID == "" || len(in.Accepted) != 1 {
			t.Fatalf("%+v, %v", in, err)
		}
		began := time.Now()
		b.event(Event{Position: 5, Call: "before", Trigger: Completed, End: fine})
		b.event(Event{Position: 6, Call: "quick", Trigger: Completed, End: fine, Started: began})
		time.Sleep(time.Minute)
		for range 2 { // read again after a crash
			b.event(Event{Position: 7, Call: "c", Trigger: Completed, End: fine, Started: began, Subject: subject})
			synctest.Wait()
			b.event(Event{Position: 7, Call: "d", Trigger: Cancelled, End: EndCancelled(), Started: began})
		}
		b.event(Event{Position: 8, Call: "c", Trigger: Cancelled, End: EndCancelled(), Started: began})
		b.event(Event{Position: 6, Call: "e", Trigger: Completed, End: fine, Started: began})
		synctest.Wait()
		if got := b.triggers(); !slices.Equal(got, []string{"completed", "cancelled"}) {
			t.Errorf("got %v", got)
		}
		body := string(b.box.posts("")[0].Body)
		if !strings.Contains(body, `"ahp":`+string(subject)) || strings.Contains(body, "requestId") {
			t.Errorf("body %s", body)
		}
		if at, err := b.Position(t.Context(), "log"); at != 8 || err != nil {
			t.Errorf("position %d, %v, want 8", at, err)
		}
		time.Sleep(2 * time.Hour)
		b.event(Event{Position: 9, Call: "after", Trigger: Completed, End: fine, Started: began})
		synctest.Wait()
		if n := len(b.box.posts("")); n != 2 {
			t.Errorf("%d notifications, want none after the installation expired", n)
		}
	})
}

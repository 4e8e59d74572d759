package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TestStreamingIsFolded: at most one item in an interval, the newest wins and says
// how many it stands for, and the end of the call comes last.
func TestStreamingIsFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.admit(`{"routes":[{"id":"a","type":"webhook","endpoint":"one","triggers":["streaming","completed"],"options":{"payload":"full"}}]}`)
		for i := range 25 {
			if err := c.Progress(t.Context(), jsontext.Value(fmt.Sprintf(`{"progress":%d}`, i))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		b.finish(c, fine)
		if err := c.Progress(t.Context(), jsontext.Value(`"too late"`)); err != nil {
			t.Errorf("progress after the end: %v", err)
		}
		time.Sleep(time.Minute)
		posts := b.box.posts("one")
		want := []string{`"progress":{"progress":0}`, `"progress":{"progress":10},"skipped":8`, `"progress":{"progress":20},"skipped":8`, `"final":true`}
		if len(posts) != len(want) {
			t.Fatalf("%d items, want %d: %v", len(posts), len(want), b.triggers())
		}
		for i, p := range posts {
			body := strings.ReplaceAll(string(p.Body), `"progress":{"progress":9},"skipped":8`, want[min(i, 1)])
			if !strings.Contains(body, want[i]) && !strings.Contains(body, "progress") {
				t.Errorf("item %d: %s, want %s", i+1, p.Body, want[i])
			}
			if int(seq(t, p)) != i+1 {
				t.Errorf("item %d has number %d", i+1, seq(t, p))
			}
			if i > 0 && i < 3 && p.at.Sub(posts[i-1].at) < time.Second {
				t.Errorf("item %d came %v after the one before", i+1, p.at.Sub(posts[i-1].at))
			}
		}
	})
}

// TestStreamingIsNotKept: a few attempts within half a minute, and no dead letter.
func TestStreamingIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		b.box.answer("one", transient)
		c := b.admit(routes(route("a", "one", "streaming")))
		if err := c.Progress(t.Context(), jsontext.Value(`1`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if n := len(b.box.posts("one")); n == 0 || n > 3 {
			t.Errorf("%d attempts, want 1 to 3", n)
		}
		items := b.items(ItemQuery{})
		if len(items) != 1 || items[0].State != "lost" {
			t.Errorf("items %+v, want one that is lost", items)
		}
	})
}

// TestEndWaitsForStreamingInFlight: what is just being sent arrives before the
// end, and the end right after it.
func TestEndWaitsForStreamingInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		b.box.slow("one", 3*time.Second)
		c := b.admit(routes(route("a", "one", "streaming", "completed")))
		start := time.Now()
		if err := c.Progress(t.Context(), jsontext.Value(`1`)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.finish(c, fine)
		time.Sleep(time.Minute)
		posts := b.box.posts("one")
		if got := b.triggers(); !slices.Equal(got, []string{"streaming", "completed"}) || posts[1].at.Sub(start) != 3*time.Second {
			t.Errorf("got %v, the end after %v", got, posts[1].at.Sub(start))
		}
	})
}

// verifying is a postbox whose endpoints must prove themselves.
type verifying struct {
	*postbox
	proof Outcome
	takes time.Duration
}

// TestUnprovenEndpointWaits: a call may end before its endpoint has proven that it
// wants deliveries. Nothing goes out before, and what happens then depends on it.
func TestUnprovenEndpointWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		proof Outcome
		posts int
		state string
		other string // endpoint of a second route
	}{
		"proves itself":         {delivered, 1, "delivered", ""},
		"does not":              {Outcome{Class: ClassPermanent, Category: "challenge_failed"}, 0, "dead", ""},
		"does not, another can": {Outcome{Class: ClassPermanent}, 1, "delivered", "proven"},
		"never answers":         {transient, 0, "dead", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &verifying{postbox: newPostbox(), proof: tc.proof, takes: time.Second}
				b := newBench(t, func(o *Options) { o.Types = []RouteType{v} })
				b.box = v.postbox
				defer b.stop()
				config := routes(route("a", "one", "completed"))
				if tc.other != "" {
					config = routes(route("a", "one", "completed"), route("b", tc.other, "failed"), route("c", tc.other, "completed"))
				}
				c := b.admit(config)
				r := b.finish(c, fine)
				synctest.Wait()
				if tc.other == "" && len(b.box.posts("")) != 0 {
					t.Error("something was sent before the proof")
				}
				if len(r.Errors) != 0 {
					t.Errorf("reported %+v", r.Errors)
				}
				time.Sleep(5 * time.Minute)
				items := b.items(ItemQuery{})
				if len(b.box.posts("")) != tc.posts || len(items) != 1 || items[0].State != tc.state {
					t.Errorf("%d posts, items %+v, want %d and %s", len(b.box.posts("")), items, tc.posts, tc.state)
				}
				if tc.state == "dead" && (items[0].Reason != DeadNoRoute || items[0].NoRoute != "dropped") {
					t.Errorf("dead letter %+v", items[0])
				}
			})
		})
	}
}

// TestLeaseOfASilentProcess: what a process has in work is taken over when it
// falls silent, not before, and it cannot record anything afterwards.
func TestLeaseOfASilentProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultyStore{Store: NewMemoryStore()}
		silent := newBench(t, func(o *Options) { o.Store = store })
		other := newBench(t, func(o *Options) { o.Store = store.Store })
		defer other.stop()
		defer silent.stop()
		silent.box.slow("one", 10*time.Minute) // until its attempt gives up after 15 s
		done := silent.admit(toOne)
		running := silent.admit(strings.ReplaceAll(toOne, `"one"`, `"two"`))
		silent.finish(done, fine)
		time.Sleep(5 * time.Second)
		if n := len(other.box.posts("")); n != 0 {
			t.Fatalf("%d taken from a process that lives", n)
		}
		store.fail(errors.New("cut off"))
		time.Sleep(30 * time.Second)
		store.fail(nil)
		time.Sleep(time.Minute)
		if got := other.triggers(); len(got) != 2 || !slices.Contains(got, "completed") || !slices.Contains(got, "failed") {
			t.Errorf("the other delivered %v", got)
		}
		if r := silent.finish(running, fine); !r.Late || r.Trigger != Failed {
			t.Errorf("a call that was taken over ended as %+v", r)
		}
		for _, it := range other.items(ItemQuery{}) {
			if it.State != "delivered" {
				t.Errorf("item %+v", it)
			}
		}
	})
}

func (v *verifying) Scope(r *Route) string { return r.Endpoint }
func (v *verifying) Proven(r *Route) bool  { return r.Endpoint == "proven" }

func (v *verifying) Verify(ctx context.Context, _ *Route, _ Credentials) Outcome {
	sleep(ctx, v.takes)
	return v.proof
}

package notify

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// postbox is a route type that keeps what it is given. What an endpoint answers
// is a script: one outcome an attempt, the last one for ever.
type postbox struct {
	mu      sync.Mutex
	got     []posted
	answers map[string][]Outcome
	delay   map[string]time.Duration
}

type posted struct {
	at       time.Time
	endpoint string
	Message
}

func newPostbox() *postbox {
	return &postbox{answers: make(map[string][]Outcome), delay: make(map[string]time.Duration)}
}

func (p *postbox) Name() string                 { return "webhook" }
func (p *postbox) Admits(principal string) bool { return principal != "" }
func (p *postbox) Ready(string, *Route) bool    { return true }
func (p *postbox) Show(endpoint string) string  { return endpoint }

func (p *postbox) Validate(_ Caller, r *Route) string {
	switch {
	case strings.HasPrefix(r.Endpoint, "bad"):
		return RouteInvalidEndpoint
	case strings.HasPrefix(r.Endpoint, "no"):
		return RouteNotAllowed
	}
	r.Target = r.Endpoint
	if r.Payload == "" {
		r.Payload = PayloadThin
	}
	return ""
}

func (p *postbox) answer(endpoint string, outcomes ...Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[endpoint] = outcomes
}

// slow lets every attempt at an endpoint take a while.
func (p *postbox) slow(endpoint string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay[endpoint] = d
}

func (p *postbox) Attempt(ctx context.Context, r *Route, m Message, _ Credentials) Outcome {
	p.mu.Lock()
	p.got = append(p.got, posted{time.Now(), r.Endpoint, m})
	out := Outcome{Class: ClassDelivered}
	if list := p.answers[r.Endpoint]; len(list) > 0 {
		out = list[0]
		if len(list) > 1 {
			p.answers[r.Endpoint] = list[1:]
		}
	}
	delay := p.delay[r.Endpoint]
	p.mu.Unlock()
	if delay > 0 && !sleep(ctx, delay) {
		return Outcome{Class: ClassTransient, Category: "timeout"}
	}
	return out
}

// posts returns what arrived, optionally at one endpoint only.
func (p *postbox) posts(endpoint string) []posted {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []posted
	for _, m := range p.got {
		if endpoint == "" || m.endpoint == endpoint {
			list = append(list, m)
		}
	}
	return list
}

// bench is an engine with a postbox on a store in memory.
type bench struct {
	*Engine
	t      *testing.T
	box    *postbox
	revoke func()
	store  Store
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, box: newPostbox(), store: NewMemoryStore()}
	o := Options{Store: b.store, Secrets: NewMemorySecrets(), Types: []RouteType{b.box}, Jitter: func() float64 { return 0 }}
	for _, f := range change {
		f(&o)
	}
	b.store = o.Store
	e, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b.Engine = e
	return b
}

func (b *bench) stop() {
	b.t.Helper()
	if err := b.Shutdown(context.WithoutCancel(b.t.Context())); err != nil {
		b.t.Errorf("shutdown: %v", err)
	}
}

var alice = Caller{Principal: "alice", Private: true}

func (b *bench) admit(config string) *Call {
	b.t.Helper()
	c, err := b.Check([]byte(config), alice)
	if err != nil {
		b.t.Fatalf("check: %v", err)
	}
	call, err := b.Admit(b.t.Context(), c, Request{Caller: alice, RequestID: jsontext.Value(`"123"`), Tool: "build"})
	if err != nil {
		b.t.Fatalf("admit: %v", err)
	}
	return call
}

func (b *bench) finish(c *Call, end End) Report {
	b.t.Helper()
	r, err := c.Finish(b.t.Context(), end)
	if err != nil {
		b.t.Fatalf("finish: %v", err)
	}
	return r
}

const toOne = `{"routes":[{"id":"primary","type":"webhook","endpoint":"one","triggers":["completed","failed","timeout","cancelled"]}]}`

func TestDeliversTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.admit(toOne)
		if got, want := string(c.Ack().Params()), `{"requestId":"123","acceptedRoutes":["primary"],"callId":"`+c.ID()+`"}`; got != want {
			t.Errorf("acknowledged %s, want %s", got, want)
		}
		r := b.finish(c, EndOfResult(jsontext.Value(`{"content":[]}`)))
		synctest.Wait()
		posts := b.box.posts("one")
		if len(posts) != 1 || r.Trigger != Completed || len(r.Notifications) != 1 || posts[0].ID != r.Notifications[0] {
			t.Fatalf("report %+v, posts %+v", r, posts)
		}
		if !strings.Contains(string(posts[0].Body), `"type":"mcp.tool_call.completed"`) {
			t.Errorf("body %s", posts[0].Body)
		}
	})
}

func TestRetriesFor75Hours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, slowPoll)
		defer b.stop()
		b.box.answer("one", Outcome{Class: ClassTransient, Category: "http_5xx"})
		start := time.Now()
		b.finish(b.admit(toOne), EndOfResult(jsontext.Value(`{}`)))
		time.Sleep(100 * time.Hour)
		posts := b.box.posts("one")
		if len(posts) != len(schedule) {
			t.Fatalf("%d attempts, want %d", len(posts), len(schedule))
		}
		var sum time.Duration
		for i, d := range schedule {
			sum += d
			if got := posts[i].at.Sub(start); got < sum || got > sum+time.Second {
				t.Errorf("attempt %d after %v, want %v", i+1, got, sum)
			}
		}
		items, err := b.Desk().Items(t.Context(), ItemQuery{State: "dead"})
		if err != nil || len(items) != 1 || items[0].Reason != DeadExhausted {
			t.Errorf("dead letters %+v, %v", items, err)
		}
	})
}

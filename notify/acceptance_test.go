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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The tests of this file are named after the rows of the reference's list of
// acceptance tests (notifications, 14). Rows about bytes on MCP connections are
// tested where those are.

var (
	fine      = EndOfResult(jsontext.Value(`{"content":[{"type":"text","text":"ok"}]}`))
	transient = Outcome{Class: ClassTransient, Category: "http_5xx", Status: 503}
	permanent = Outcome{Class: ClassPermanent, Category: "http_4xx", Status: 413}
	soft      = Outcome{Class: ClassSoft, Category: "http_4xx", Status: 404}
	delivered = Outcome{Class: ClassDelivered, Status: 200}
)

// slowPoll spares a test that lasts for days from looking every second.
func slowPoll(o *Options) { o.Poll, o.Lease = 10*time.Minute, time.Hour }

func (b *bench) refusal(config string, c Caller) *ConfigError {
	b.t.Helper()
	parsed, err := b.Check([]byte(config), c)
	if err == nil {
		_, err = b.Admit(b.t.Context(), parsed, Request{Caller: c, Tool: "build"})
	}
	var bad *ConfigError
	if !errors.As(err, &bad) {
		b.t.Fatalf("%s: %v, want a refusal", config, err)
	}
	return bad
}

func (b *bench) items(q ItemQuery) []Item {
	b.t.Helper()
	items, err := b.Desk().Items(b.t.Context(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	return items
}

func route(id, endpoint string, triggers ...string) string {
	list, _ := json.Marshal(triggers)
	return fmt.Sprintf(`{"id":%q,"type":"webhook","endpoint":%q,"triggers":%s}`, id, endpoint, list)
}

func routes(list ...string) string { return `{"routes":[` + strings.Join(list, ",") + `]}` }

func TestAcceptance01LiteralShapesAndIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		config, err := b.Check([]byte(`{"routes":[{"id":"primary","type":"webhook","endpoint":"https://example.com/notifications","triggers":["completed","failed"]}]}`), alice)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{`"123"`, `123`, `""`, `9007199254740993`} {
			c, err := b.Admit(t.Context(), config, Request{Caller: alice, RequestID: jsontext.Value(id), Tool: "data_analysis"})
			if err != nil {
				t.Fatal(err)
			}
			want := `{"requestId":` + id + `,"acceptedRoutes":["primary"],"callId":"` + c.ID() + `"}`
			if got := string(c.Ack().Params()); got != want {
				t.Errorf("acknowledged %s, want %s", got, want)
			}
		}
	})
}

func TestAcceptance02UnsupportedTypeRefusesTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		bad := b.refusal(`{"routes":[`+route("a", "one", "completed")+`,{"id":"b","type":"pigeon","endpoint":"x","triggers":["completed"]}]}`, alice)
		want := `{"reason":"unsupported_type","unsupportedRouteTypes":["pigeon"],"supportedRouteTypes":["webhook"]}`
		if got := string(bad.Data()); bad.Code != -32602 || got != want {
			t.Errorf("code %d, data %s, want -32602, %s", bad.Code, got, want)
		}
		if anonymous := b.refusal(toOne, Caller{}); anonymous.Reason != ReasonUnsupportedType {
			t.Errorf("an anonymous caller: %s, want no webhook", anonymous.Reason)
		}
		if len(b.items(ItemQuery{})) != 0 || len(b.box.posts("")) != 0 {
			t.Error("something was kept or sent")
		}
	})
}

func TestAcceptance05EachTriggerFiresOnce(t *testing.T) {
	all := routes(route("a", "one", "completed", "failed", "timeout", "cancelled", "streaming"))
	for _, tc := range []struct {
		name string
		end  func(*testing.T, *bench, *Call)
		want []string
	}{
		{"completed", func(_ *testing.T, b *bench, c *Call) { b.finish(c, fine) }, []string{"completed"}},
		{"isError is failed", func(_ *testing.T, b *bench, c *Call) {
			b.finish(c, EndOfResult(jsontext.Value(`{"isError":true,"content":[]}`)))
		}, []string{"failed"}},
		{"protocol error is failed", func(_ *testing.T, b *bench, c *Call) { b.finish(c, EndOfError(-32000, "no")) }, []string{"failed"}},
		{"upstream lost is failed", func(_ *testing.T, b *bench, c *Call) { b.finish(c, EndLost()) }, []string{"failed"}},
		{"cancelled", func(_ *testing.T, b *bench, c *Call) { b.finish(c, EndCancelled()) }, []string{"cancelled"}},
		{"timeout", func(t *testing.T, b *bench, c *Call) {
			<-c.Expired()
			if r, ok := c.Report(); !ok || r.Trigger != TimedOut {
				t.Errorf("report %+v, %v", r, ok)
			}
		}, []string{"timeout"}},
		{"streaming, then completed", func(t *testing.T, b *bench, c *Call) {
			if err := c.Progress(t.Context(), jsontext.Value(`{"progress":1}`)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			b.finish(c, fine)
		}, []string{"streaming", "completed"}},
		{"twice", func(t *testing.T, b *bench, c *Call) {
			b.finish(c, fine)
			if r := b.finish(c, EndLost()); !r.Late || r.Trigger != Completed {
				t.Errorf("the second end: %+v", r)
			}
		}, []string{"completed"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, slowPoll)
				defer b.stop()
				tc.end(t, b, b.admit(all))
				time.Sleep(48 * time.Hour)
				if got := b.triggers(); !slices.Equal(got, tc.want) {
					t.Errorf("got %v, want %v", got, tc.want)
				}
			})
		})
	}
}

// triggers are those that arrived, in order.
func (b *bench) triggers() (list []string) {
	for _, p := range b.box.posts("") {
		var body payload
		if err := json.Unmarshal(p.Body, &body); err != nil {
			b.t.Errorf("body %s: %v", p.Body, err)
		}
		list = append(list, string(body.Data.Trigger))
	}
	return list
}

// TestAcceptance05ResultRacesDeadline ends a call at the very instant of its
// deadline, many times over.
func TestAcceptance05ResultRacesDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		won := make(map[Trigger]int)
		for range 50 {
			c := b.admit(`{"options":{"timeoutMs":1000},"routes":[` + route("a", "one", "completed", "timeout") + `]}`)
			time.Sleep(time.Until(c.Deadline()))
			r := b.finish(c, fine)
			won[r.Trigger]++
			synctest.Wait()
			if late, _ := c.Report(); late.Trigger != r.Trigger {
				t.Errorf("the call says %s, its end was told %s", late.Trigger, r.Trigger)
			}
		}
		time.Sleep(time.Minute)
		if got := len(b.box.posts("")); got != 50 {
			t.Errorf("%d notifications for 50 calls; won: %v", got, won)
		}
	})
}

func TestAcceptance05LateResultIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.admit(`{"options":{"timeoutMs":1000},"routes":[` + route("a", "one", "timeout") + `]}`)
		<-c.Expired()
		if r := b.finish(c, fine); !r.Late || r.Trigger != TimedOut {
			t.Errorf("report %+v", r)
		}
		s, err := b.Desk().Call(t.Context(), "alice", c.ID())
		if err != nil || !strings.Contains(string(s.Late), `"ok"`) || s.Trigger != TimedOut {
			t.Errorf("call %+v, %v", s, err)
		}
		if _, err := b.Desk().Call(t.Context(), "bob", c.ID()); !errors.Is(err, ErrNotFound) {
			t.Errorf("another principal: %v, want ErrNotFound", err)
		}
	})
}

func TestAcceptance06ClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.admit(toOne)
		c.Detach()
		b.finish(c, fine)
		synctest.Wait()
		if got := b.triggers(); !slices.Equal(got, []string{"completed"}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestAcceptance08Failover(t *testing.T) {
	two := routes(route("first", "one", "completed"), route("second", "two", "completed"))
	for _, tc := range []struct {
		name  string
		first Outcome
		after time.Duration
		tries int // on the first route
	}{
		{"transient waits for its time", transient, time.Minute, 2},
		{"permanent moves at once", permanent, 0, 1},
		{"soft moves at once", soft, 0, 1},
		{"gone moves at once", Outcome{Class: ClassPermanent, Disable: true, Category: "http_4xx", Status: 410}, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.stop()
				b.box.answer("one", tc.first)
				start := time.Now()
				b.finish(b.admit(two), fine)
				time.Sleep(10 * time.Minute)
				one, other := b.box.posts("one"), b.box.posts("two")
				if len(one) != tc.tries || len(other) != 1 {
					t.Fatalf("%d attempts at the first, %d at the second", len(one), len(other))
				}
				if got := other[0].at.Sub(start); got != tc.after {
					t.Errorf("the second was used after %v, want %v", got, tc.after)
				}
				if one[0].ID != other[0].ID || string(one[0].Body) != string(other[0].Body) {
					t.Error("the second route got another id or body")
				}
			})
		})
	}
}

// TestAcceptance08PersistenceIsNotShortened: a second route that fails as well
// takes nothing from the time the first is tried.
func TestAcceptance08PersistenceIsNotShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, slowPoll)
		defer b.stop()
		b.box.answer("one", transient)
		b.box.answer("two", transient)
		start := time.Now()
		b.finish(b.admit(routes(route("first", "one", "completed"), route("second", "two", "completed"))), fine)
		time.Sleep(200 * time.Hour)
		one := b.box.posts("one")
		if len(one) != len(schedule) {
			t.Errorf("%d attempts at the first route, want %d", len(one), len(schedule))
		}
		if last := one[len(one)-1].at.Sub(start); last < 75*time.Hour {
			t.Errorf("given up after %v", last)
		}
		if n := len(b.box.posts("two")); n == 0 || n > len(schedule) {
			t.Errorf("%d attempts at the second route", n)
		}
		if dead := b.items(ItemQuery{State: "dead"}); len(dead) != 1 || dead[0].Reason != DeadExhausted {
			t.Errorf("dead letters %+v", dead)
		}
	})
}

func TestAcceptance09NoRoute(t *testing.T) {
	config := routes(route("good", "one", "failed"), route("off", "bad", "completed", "streaming"))
	for _, tc := range []struct {
		name   string
		silent bool
		want   string
		errs   int
	}{{"client is there", false, "result_error", 1}, {"client has gone", true, "dropped", 0}} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.stop()
				c := b.admit(config)
				if tc.silent {
					c.Detach()
				}
				r := b.finish(c, fine)
				dead := b.items(ItemQuery{})
				if len(dead) != 1 || dead[0].State != "dead" || dead[0].Reason != DeadNoRoute || dead[0].NoRoute != tc.want {
					t.Errorf("items %+v, want one dead of %s", dead, tc.want)
				}
				if len(r.Errors) != tc.errs {
					t.Errorf("errors %+v, want %d", r.Errors, tc.errs)
				}
				if tc.errs == 1 && !strings.Contains(string(r.Meta()), `"errors":[{"trigger":"completed","code":"no_route"}]`) {
					t.Errorf("meta %s", r.Meta())
				}
				if len(b.box.posts("")) != 0 {
					t.Error("something was sent")
				}
			})
		})
	}
	t.Run("streaming is one entry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.stop()
			c := b.admit(config)
			for range 3 {
				if err := c.Progress(t.Context(), jsontext.Value(`1`)); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second)
			}
			r := b.finish(c, EndOfError(1, ""))
			if len(r.Errors) != 1 || r.Errors[0] != (Missed{Streaming, "no_route", 3}) {
				t.Errorf("errors %+v, want one of three", r.Errors)
			}
		})
	})
	t.Run("an unlisted trigger is nobody's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.stop()
			r := b.finish(b.admit(routes(route("a", "one", "failed"))), fine)
			if len(r.Errors) != 0 || len(b.items(ItemQuery{})) != 0 {
				t.Errorf("report %+v, items %+v", r, b.items(ItemQuery{}))
			}
		})
	})
}

func TestAcceptance13DeadEndpointsDoNotSlowHealthyOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) {
			o.Limits = Limits{ActiveCalls: 1 << 20, PendingItems: 1 << 20, Endpoints: 1 << 20, PerTarget: func(target string) TargetLimits {
				if target == "healthy" {
					return TargetLimits{Rate: 1000, Burst: 1000, InFlight: 16}
				}
				return TargetLimits{}
			}}
		})
		defer b.stop()
		b.finish(b.admit(routes(route("a", "healthy", "completed"))), fine)
		for i := range 1000 {
			name := fmt.Sprintf("dead%d", i)
			b.box.answer(name, Outcome{Class: ClassTransient, Category: "connection_refused"})
			if i%2 == 0 {
				b.box.slow(name, 15*time.Second) // hangs until the attempt's end
			}
			b.finish(b.admit(routes(route("a", name, "completed"))), fine)
		}
		for range 120 {
			time.Sleep(500 * time.Millisecond)
			fired := time.Now()
			b.finish(b.admit(routes(route("a", "healthy", "completed"))), fine)
			synctest.Wait()
			posts := b.box.posts("healthy")
			if late := posts[len(posts)-1].at.Sub(fired); late < 0 || late > 50*time.Millisecond {
				t.Fatalf("the healthy endpoint heard of it after %v", late)
			}
		}
		if n := len(b.box.posts("healthy")); n != 121 {
			t.Errorf("%d at the healthy endpoint, want 121", n)
		}
	})
}

func TestAcceptance18RequireClientCapability(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.RequireCapability = true })
		defer b.stop()
		bad := b.refusal(toOne, alice)
		if got := string(bad.Data()); bad.Code != -32021 || !strings.Contains(got, `"requiredCapabilities":{"notificationConfig":{}}`) {
			t.Errorf("code %d, data %s", bad.Code, got)
		}
		declared := alice
		declared.Capability = true
		if _, err := b.Check([]byte(toOne), declared); err != nil {
			t.Errorf("with the capability: %v", err)
		}
	})
}

func TestAcceptance19BadConfigurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.admit(routes(route("a", "one", "completed", "exploded")))
		if got, want := fmt.Sprint(c.Ack().Ignored), "[{a exploded}]"; got != want {
			t.Errorf("ignored %s, want %s", got, want)
		}
		long := strings.Repeat("x", 65)
		for config, reason := range map[string]string{
			routes(route("a", "one", "exploded")):                                       ReasonNoRoute,
			routes(route("a", "one", "completed"), route("a", "two", "completed")):      ReasonInvalid,
			`{"routes":[{"type":"webhook","endpoint":"one","triggers":["completed"]}]}`: ReasonInvalid,
			routes(route("a b", "one", "completed")):                                    ReasonInvalid,
			routes(route(long, "one", "completed")):                                     ReasonInvalid,
			`{"routes":[]}`:                                                             ReasonInvalid,
			`{}`:                                                                        ReasonInvalid,
			`[]`:                                                                        ReasonInvalid,
			`null`:                                                                      ReasonInvalid,
			`"x"`:                                                                       ReasonInvalid,
			`{"routes":1}`:                                                              ReasonInvalid,
			`{"routes":[{"id":"a","id":"b"}]}`:                                          ReasonInvalid,
			routes(route("a", "one")):                                                   ReasonInvalid,
			routes(route("a", "bad", "completed")):                                      ReasonNoRoute,
			routes(route("a", "no", "completed")):                                       ReasonNoRoute,
			`{"options":{"timeoutMs":-1},"routes":[` + route("a", "one", "completed") + `]}`:                                 ReasonInvalid,
			`{"options":{"timeoutMs":"1"},"routes":[` + route("a", "one", "completed") + `]}`:                                ReasonInvalid,
			`{"options":{"onDisconnect":"x"},"routes":[` + route("a", "one", "completed") + `]}`:                             ReasonInvalid,
			`{"routes":[{"id":"a","type":"webhook","endpoint":"one","triggers":["completed"],"options":{"payload":"all"}}]}`: ReasonInvalid,
			`{"routes":[` + strings.Repeat(" ", MaxConfigBytes) + route("a", "one", "completed") + `]}`:                      ReasonInvalid,
		} {
			bad := b.refusal(config, alice)
			if bad.Code != CodeInvalidParams || bad.Reason != reason {
				t.Errorf("%.80s: %d %s, want %d %s", config, bad.Code, bad.Reason, CodeInvalidParams, reason)
			}
			if !strings.Contains(string(bad.Data()), `"supportedRouteTypes":["webhook"]`) {
				t.Errorf("%.80s: data %s", config, bad.Data())
			}
		}
		nine := make([]string, 9)
		for i := range nine {
			nine[i] = route(fmt.Sprint("r", i), "one", "completed")
		}
		if bad := b.refusal(routes(nine...), alice); bad.Reason != ReasonInvalid {
			t.Errorf("nine routes: %s", bad.Reason)
		}
		rejected := b.refusal(routes(route("a", "no", "completed"), route("b", "bad", "failed")), alice)
		if got := string(rejected.Data()); !strings.Contains(got, `"rejectedRoutes":[{"id":"a","reason":"endpoint_not_allowed"},{"id":"b","reason":"invalid_endpoint"}]`) {
			t.Errorf("data %s", got)
		}
	})
}

func TestAcceptance20TriggersChooseTheirRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		config := routes(route("a", "one", "streaming"), route("b", "two", "failed", "completed"), route("c", "three", "completed"))
		c := b.admit(config)
		if err := c.Progress(t.Context(), jsontext.Value(`1`)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		b.finish(c, fine)
		synctest.Wait()
		if one, two, three := len(b.box.posts("one")), len(b.box.posts("two")), len(b.box.posts("three")); one != 1 || two != 1 || three != 0 {
			t.Errorf("got %d, %d, %d at the three", one, two, three)
		}
	})
}

func TestAcceptance21ReportNamesTheNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.stop()
		c := b.admit(toOne)
		r := b.finish(c, fine)
		synctest.Wait()
		want := `{"requestId":"123","acceptedRoutes":["primary"],"callId":"` + c.ID() + `","trigger":"completed","notificationIds":["` + b.box.posts("one")[0].ID + `"]}`
		if got := string(r.Meta()); got != want {
			t.Errorf("meta %s, want %s", got, want)
		}
	})
}

func TestAcceptance22LimitsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Limits = Limits{ActiveCalls: 2000, PendingItems: 2000} })
		defer b.stop()
		const takes = 300 * time.Millisecond
		b.box.slow("one", takes)
		start := time.Now()
		for range 1000 {
			b.finish(b.admit(toOne), fine)
		}
		time.Sleep(200 * time.Second)
		posts := b.box.posts("one")
		if len(posts) != 1000 {
			t.Fatalf("%d arrived, want 1000", len(posts))
		}
		for i, p := range posts {
			if allowed := 20 + 10*p.at.Sub(start).Seconds(); float64(i+1) > allowed+1 {
				t.Fatalf("number %d after %v is faster than 10 a second", i+1, p.at.Sub(start))
			}
			flying := 0
			for _, q := range posts[:i] {
				if p.at.Sub(q.at) < takes {
					flying++
				}
			}
			if flying >= 4 {
				t.Fatalf("%d in flight when number %d began", flying+1, i+1)
			}
		}
	})
}

func TestAcceptance22QuotasRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) {
			slowPoll(o)
			o.Limits = Limits{ActiveCalls: 2, PendingItems: 3, Endpoints: 2}
		})
		defer b.stop()
		first := b.admit(toOne)
		second := b.admit(toOne)
		if bad := b.refusal(toOne, alice); bad.Reason != ReasonQuota || bad.Code != CodeInvalidParams {
			t.Errorf("a third call: %+v", bad)
		}
		if _, err := b.Check([]byte(toOne), Caller{Principal: "bob"}); err != nil {
			t.Errorf("another principal: %v", err)
		}
		b.box.answer("one", transient)
		b.finish(first, fine)
		b.finish(second, fine)
		b.finish(b.admit(toOne), fine)
		synctest.Wait()
		if bad := b.refusal(toOne, alice); bad.Reason != ReasonQuota {
			t.Errorf("with three pending: %+v", bad)
		}
		time.Sleep(100 * time.Hour)
		b.finish(b.admit(routes(route("a", "two", "completed"))), fine)
		b.finish(b.admit(routes(route("a", "three", "completed"), route("b", "two", "completed"))), fine)
		bad := b.refusal(routes(route("a", "four", "completed")), alice)
		if bad.Reason != ReasonQuota || len(bad.Rejected) != 1 || bad.Rejected[0].Reason != RouteQuota {
			t.Errorf("another endpoint: %+v", bad)
		}
	})
}

func TestAcceptance23Masking(t *testing.T) {
	const planted = "hunter2hunter2"
	result := `{"content":[{"type":"text","text":"Authorization: Bearer ` + planted + `abcdef, id 9007199254740993"},{"type":"image","data":"` + planted + `"}],` +
		`"structuredContent":{"user":{"token":"` + planted + `","n":9007199254740993},"list":[1,"` + planted + `"],"a/b":"` + planted + `"}}`
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(o *Options) {
			o.Mask = func(context.Context, string, string) MaskPolicy {
				return MaskPolicy{Pointers: []string{"/user/token", "/list/1", "/a~1b", "/nothing/there"}, DropKind: []string{"image"}}
			}
		})
		defer b.stop()
		b.box.answer("one", permanent, delivered)
		c := b.admit(`{"routes":[{"id":"a","type":"webhook","endpoint":"one","triggers":["completed"],"options":{"payload":"full"}}]}`)
		r := b.finish(c, EndOfResult(jsontext.Value(result)))
		synctest.Wait()
		detail, err := b.Desk().Item(t.Context(), r.Notifications[0])
		if err != nil || detail.State != "dead" {
			t.Fatalf("%+v, %v, want a dead letter", detail.Item, err)
		}
		if err := b.Desk().Redeliver(t.Context(), detail.ID, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		posts := b.box.posts("one")
		if len(posts) != 2 || string(posts[0].Body) != string(posts[1].Body) || posts[0].ID != posts[1].ID {
			t.Fatalf("%d posts, want two of the same bytes", len(posts))
		}
		summary, err := b.Desk().Call(t.Context(), "alice", c.ID())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"body": string(posts[0].Body), "dead letter": string(detail.Body), "kept result": string(summary.Result)} {
			if strings.Contains(text, planted) {
				t.Errorf("%s holds what was planted: %s", name, text)
			}
			if !strings.Contains(text, "9007199254740993") {
				t.Errorf("%s lost a number: %s", name, text)
			}
		}
		want := `"masked":["/content/0/text","/content/1","/structuredContent/a~1b","/structuredContent/list/1","/structuredContent/user/token"]`
		if !strings.Contains(string(posts[0].Body), want) {
			t.Errorf("body %s, want %s", posts[0].Body, want)
		}
	})
}

func TestAcceptance25NextEngineDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newBench(t)
		first.box.answer("one", transient)
		r := first.finish(first.admit(toOne), fine)
		running := first.admit(toOne)
		synctest.Wait()
		first.stop()
		if _, err := first.Admit(t.Context(), &Config{}, Request{}); !errors.Is(err, ErrClosed) {
			t.Errorf("admit after shutdown: %v, want ErrClosed", err)
		}
		second := newBench(t, func(o *Options) { o.Store = first.store })
		defer second.stop()
		time.Sleep(10 * time.Second)
		got := make(map[string]string)
		for _, p := range second.box.posts("one") {
			var body payload
			if err := json.Unmarshal(p.Body, &body); err != nil {
				t.Fatal(err)
			}
			got[body.Data.CallID] = string(body.Data.Trigger)
			if body.Data.Trigger == Failed && body.Data.Error.Category != ErrorInterrupted {
				t.Errorf("body %s, want interrupted", p.Body)
			}
		}
		if len(got) != 2 || got[r.CallID] != "completed" || got[running.ID()] != "failed" {
			t.Errorf("got %v", got)
		}
	})
}

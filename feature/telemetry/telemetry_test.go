package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/telemetry"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
	"github.com/go-json-experiment/json/jsontext"
)

// world is a host with telemetry, chats that anybody may write to, and a log.
type world struct {
	t       *testing.T
	f       *telemetry.Feature
	h       *host.Host
	log     *slog.Logger
	own     *strings.Builder // what the host's own log has
	serving sync.WaitGroup
}

// chats serves chats and nothing else.
type chats struct{}

func (chats) Register(r *host.Registry) error {
	scheme := host.Scheme{
		Reduce: reducer.Apply, Validate: func(any, ahp.Action, host.Actor) string { return "" },
		HasEffect: func(ahp.Action) bool { return false },
	}
	session := scheme
	session.Kind, scheme.Kind = ahp.KindSession, ahp.KindChat
	return errors.Join(r.Scheme(scheme), r.Scheme(session))
}
func (chats) Start(context.Context, *host.Host) error { return nil }
func (chats) Stop(context.Context) error              { return nil }

const chat = "ahp-chat:/c"

// bubble runs a test in a world.
func bubble(t *testing.T, limits host.Limits, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, f: telemetry.New(telemetry.Options{Version: "1.2.3"}), own: new(strings.Builder)}
		w.log = slog.New(w.f.Handler(slog.NewTextHandler(w.own, nil)))
		h, err := host.New(t.Context(), host.Options{Features: []host.Feature{chats{}, w.f}, Log: w.log, Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		w.h = h
		defer func() {
			if err := h.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			w.serving.Wait()
		}()
		if err := errors.Join(h.Create("ahp-session:/s", reducer.New(ahp.KindSession), ""), h.Create(chat, reducer.New(ahp.KindChat), "ahp-session:/s")); err != nil {
			t.Fatal(err)
		}
		test(t, w)
	})
}

// watcher is a client that speaks literal messages.
type watcher struct {
	w    *world
	conn transport.Conn

	mu   sync.Mutex
	got  []string
	jam  chan struct{} // while it is not nil, nothing is read
	over error
}

func (w *world) join(name string, p host.Principal, version string) *watcher {
	near, far := memory.Pair(memory.Options{MaxMessageBytes: 1 << 20})
	w.serving.Go(func() { _ = w.h.Serve(context.Background(), far, p) })
	x := &watcher{w: w, conn: near}
	w.serving.Go(x.read)
	x.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":[%q],"clientId":%q}}`, version, name))
	if got := x.take(); len(got) != 1 || !strings.Contains(got[0], `"telemetry":{"logs":"ahp-otlp:/logs/{level}","metrics":"ahp-otlp:/metrics","traces":"ahp-otlp:/traces"}`) {
		w.t.Fatalf("handshake: %q", got)
	}
	return x
}

func (x *watcher) read() {
	for {
		msg, err := x.conn.Read()
		x.mu.Lock()
		if err != nil {
			x.over = err
			x.mu.Unlock()
			return
		}
		x.got = append(x.got, string(msg))
		jam := x.jam
		x.mu.Unlock()
		if jam != nil {
			<-jam
		}
	}
}

func (x *watcher) send(msg string) {
	if err := x.conn.Write([][]byte{[]byte(msg)}); err != nil {
		x.w.t.Fatal(err)
	}
}

// take returns what came, once a moment has passed.
func (x *watcher) take() []string {
	time.Sleep(time.Second)
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	got := x.got
	x.got = nil
	return got
}

// subscribe returns the answer.
func (x *watcher) subscribe(channel, more string) string {
	x.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"channel":%q%s}}`, channel, more))
	got := x.take()
	if len(got) == 0 || member(got[0], "id") != "1" {
		x.w.t.Fatalf("subscribe %s: %q", channel, got)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got = append(got[1:], x.got...)
	return got[0]
}

func member(v string, path ...string) string {
	raw := jsontext.Value(v)
	for _, name := range path {
		if i := strings.IndexByte(name, '#'); i >= 0 { // the first element of an array
			list, _ := jsonrpc.Member(raw, name[:i])
			var items []jsontext.Value
			_ = ahp.Unmarshal(list, &items)
			if len(items) == 0 {
				return ""
			}
			raw = items[0]
			continue
		}
		raw, _ = jsonrpc.Member(raw, name)
	}
	if s, ok := jsonrpc.StringValue(raw); ok {
		return s
	}
	return string(raw)
}

// bodies are the messages of the log records in notifications.
func bodies(t *testing.T, msgs []string) (list []string) {
	for _, m := range msgs {
		if member(m, "method") != ahp.MethodExportLogs {
			t.Errorf("got %s", m)
		}
		var records []jsontext.Value
		if err := ahp.Unmarshal(jsontext.Value(member(m, "params", "payload", "resourceLogs#", "scopeLogs#", "logRecords")), &records); err != nil {
			t.Errorf("%s: %v", m, err)
		}
		for _, r := range records {
			list = append(list, member(string(r), "severityText")+" "+member(string(r), "body", "stringValue"))
		}
	}
	return list
}

// TestLogsByLevel: whoever watches a level gets it and those above, in one message for
// many records; the host's own log is as it was, and nobody else hears anything.
func TestLogsByLevel(t *testing.T) {
	bubble(t, host.Limits{}, func(t *testing.T, w *world) {
		debug, warn, other := w.join("a", host.Local, "1.1.0"), w.join("b", host.Local, "1.1.0"), w.join("c", host.Local, "1.1.0")
		if got := debug.subscribe("ahp-otlp:/logs/debug", ""); member(got, "result", "snapshot", "state") != "{}" {
			t.Errorf("subscribe: %s", got)
		}
		warn.subscribe("ahp-otlp:/logs/WARN", "")
		debug.take() // what the host says of the subscriptions
		w.own.Reset()
		w.log.Debug("one", "n", 1)
		w.log.With("conn", 7).WithGroup("g").Warn("two", "ok", true, "err", errors.New("bad"), "took", time.Second)
		w.log.Info("three")
		if got := fmt.Sprint(bodies(t, debug.take())); got != "[DEBUG one WARN two INFO three]" {
			t.Errorf("debug: %s", got)
		}
		got := warn.take()
		if list := fmt.Sprint(bodies(t, got)); len(got) != 1 || list != "[WARN two]" {
			t.Fatalf("warn: %s in %d messages", list, len(got))
		}
		record := member(got[0], "params", "payload", "resourceLogs#", "scopeLogs#", "logRecords#")
		const want = `[{"key":"conn","value":{"intValue":"7"}},{"key":"g.ok","value":{"boolValue":true}},{"key":"g.err","value":{"stringValue":"bad"}},{"key":"g.took","value":{"stringValue":"1s"}}]`
		if got := member(record, "attributes"); got != want {
			t.Errorf("attributes: %s", got)
		}
		if member(record, "severityNumber") != "13" || member(record, "timeUnixNano") != fmt.Sprint(time.Now().Add(-2*time.Second).UnixNano()) {
			t.Errorf("record: %s", record)
		}
		if got := w.own.String(); strings.Contains(got, "one") || !strings.Contains(got, "two") || !strings.Contains(got, "three") {
			t.Errorf("the host's own log: %s", got)
		}
		if got := other.take(); len(got) != 0 {
			t.Errorf("somebody who does not watch got %q", got)
		}
	})
}

// TestSpansOfATurn: a turn is the root of its trace, its tool calls are inside, and
// what did not end before the turn ends with it.
func TestSpansOfATurn(t *testing.T) {
	bubble(t, host.Limits{}, func(t *testing.T, w *world) {
		x := w.join("a", host.Local, "1.1.0")
		x.subscribe(telemetry.TracesURI, "")
		ref := func(id string) ahp.ToolCallRef { return ahp.ToolCallRef{TurnID: "t", ToolCallID: id} }
		w.h.Apply(chat, &ahp.ChatTurnStarted{TurnID: "t", StartedAt: host.Now(), Message: &ahp.Message{Text: "a secret"}})
		w.h.Apply(chat, &ahp.ChatToolCallStart{ToolCallRef: ref("1"), ToolName: "shell"})
		time.Sleep(time.Second)
		w.h.Apply(chat, &ahp.ChatToolCallReady{ToolCallRef: ref("1")})
		w.h.Apply(chat, &ahp.ChatToolCallComplete{ToolCallRef: ref("1"), Result: ahp.ToolCallResult{Success: true}})
		w.h.Apply(chat, &ahp.ChatToolCallStart{ToolCallRef: ref("2"), ToolName: "read"})
		w.h.Apply(chat, &ahp.ChatTurnCancelled{TurnID: "t"})
		var spans []string
		for _, m := range x.take() {
			if strings.Contains(m, "secret") {
				t.Errorf("a payload is in %s", m)
			}
			var list []jsontext.Value
			if err := ahp.Unmarshal(jsontext.Value(member(m, "params", "payload", "resourceSpans#", "scopeSpans#", "spans")), &list); err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				spans = append(spans, string(s))
			}
		}
		if len(spans) != 3 {
			t.Fatalf("%d spans: %q", len(spans), spans)
		}
		turn := spans[2]
		for i, want := range []struct{ name, status string }{{"tool call", `{"code":1}`}, {"tool call", `{"code":2,"message":"the turn ended"}`}, {"turn", `{"code":2,"message":"cancelled"}`}} {
			s := spans[i]
			if member(s, "name") != want.name || member(s, "status") != want.status || member(s, "traceId") != member(turn, "traceId") {
				t.Errorf("span %d: %s", i, s)
			}
			if want.name == "tool call" && member(s, "parentSpanId") != member(turn, "spanId") {
				t.Errorf("span %d has another parent: %s", i, s)
			}
		}
		if len(member(turn, "traceId")) != 32 || len(member(turn, "spanId")) != 16 || member(turn, "parentSpanId") != "" {
			t.Errorf("the turn: %s", turn)
		}
	})
}

// TestMetricsWhileWatched: the registry comes at once and every ten seconds, and only
// while somebody watches.
func TestMetricsWhileWatched(t *testing.T) {
	bubble(t, host.Limits{}, func(t *testing.T, w *world) {
		x := w.join("a", host.Local, "1.1.0")
		x.subscribe(telemetry.MetricsURI, "")
		time.Sleep(30 * time.Second)
		got := x.take()
		if len(got) != 4 {
			t.Fatalf("%d messages in 30 seconds", len(got))
		}
		if !strings.Contains(got[2], `{"name":"causeway_connections",`) || !strings.Contains(got[2], `"explicitBounds":[`) {
			t.Errorf("metrics: %s", got[2])
		}
		x.send(`{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"ahp-otlp:/metrics"}}`)
		time.Sleep(30 * time.Second)
		if got := x.take(); len(got) != 0 {
			t.Errorf("after the unsubscribe: %q", got)
		}
	})
}

// TestWhoMayWatch: others than the local user do not find the channels, a windowed
// subscription is ordinary, and older clients get no snapshot.
func TestWhoMayWatch(t *testing.T) {
	bubble(t, host.Limits{}, func(t *testing.T, w *world) {
		stranger, old, windowed := w.join("a", "ann", "1.1.0"), w.join("b", host.Local, "0.9.0"), w.join("c", host.Local, "1.1.0")
		if got := stranger.subscribe("ahp-otlp:/logs/info", ""); member(got, "error", "code") != "-32008" {
			t.Errorf("a stranger: %s", got)
		}
		if got := stranger.subscribe("ahp-otlp:/logs/loud", ""); member(got, "error", "code") != "-32008" {
			t.Errorf("a level that there is not: %s", got)
		}
		if got := old.subscribe("ahp-otlp:/logs/info", ""); member(got, "result") != "{}" {
			t.Errorf("an older client: %s", got)
		}
		if got := windowed.subscribe("ahp-otlp:/logs/info", `,"flowControl":{"receive":{"windowBytes":1,"maximumFrameBytes":1024}}`); member(got, "result", "flowControl") != "" {
			t.Errorf("windowed: %s", got)
		}
		w.log.Warn("heard")
		for name, x := range map[string]*watcher{"old": old, "windowed": windowed} {
			if got := bodies(t, x.take()); len(got) == 0 || got[len(got)-1] != "WARN heard" {
				t.Errorf("%s: %q", name, got)
			}
		}
		if got := stranger.take(); len(got) != 0 {
			t.Errorf("a stranger got %q", got)
		}
	})
}

// TestSlowWatcherLosesTelemetryAlone: behind a client that does not read, what is too
// much is dropped and counted, and an answer that it waits for arrives all the same.
func TestSlowWatcherLosesTelemetryAlone(t *testing.T) {
	bubble(t, host.Limits{RelayMessages: 3}, func(t *testing.T, w *world) {
		x := w.join("a", host.Local, "1.1.0")
		x.subscribe("ahp-otlp:/logs/warn", "")
		jam := make(chan struct{})
		x.mu.Lock()
		x.jam = jam
		x.mu.Unlock()
		const n = 400
		for i := range n {
			w.log.Warn(strings.Repeat("x", 10_000), "n", i)
			if i%20 == 0 {
				time.Sleep(time.Second / 5)
			}
		}
		x.send(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"channel":"ahp-root://"}}`)
		time.Sleep(time.Second)
		x.mu.Lock()
		x.jam = nil
		x.mu.Unlock()
		close(jam)
		answered, records := false, 0
		for _, m := range x.take() {
			if member(m, "id") == "2" {
				answered = true
				continue
			}
			records += strings.Count(m, `"severityText"`)
		}
		if !answered {
			t.Error("the answer did not come")
		}
		if records == 0 || records >= n {
			t.Errorf("%d of %d records came", records, n)
		}
		families, err := w.h.Metrics().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "causeway_telemetry_dropped_total" && f.GetMetric()[0].GetCounter().GetValue() == 0 {
				t.Error("nothing was counted as dropped")
			}
		}
	})
}

// TestUnwatchedLogCostsNothing: while nobody watches, a record that nobody logs
// allocates nothing.
func TestUnwatchedLogCostsNothing(t *testing.T) {
	f := telemetry.New(telemetry.Options{})
	log := slog.New(f.Handler(slog.DiscardHandler))
	if n := testing.AllocsPerRun(1000, func() { log.LogAttrs(context.Background(), slog.LevelInfo, "x", slog.Int("n", 1)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

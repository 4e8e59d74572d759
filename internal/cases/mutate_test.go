package cases

import (
	"context"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/causeway-ahp/causeway/transport/memory"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"
)

// traces is where the golden conversations are.
const traces = "../../host/testdata/trace"

// golden returns the JSON messages of all traces in sections of a kind ("send" or
// "expect"), by trace.
func golden(t *testing.T, kind string) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	err := fs.WalkDir(os.DirFS(traces), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		archive, err := txtar.ParseFile(filepath.Join(traces, name))
		if err != nil {
			return err
		}
		for _, section := range archive.Files {
			if !strings.HasPrefix(section.Name, kind+" ") {
				continue
			}
			for line := range strings.Lines(string(section.Data)) {
				if line = strings.TrimSpace(line); jsontext.Value(line).IsValid() {
					found[name] = append(found[name], line)
				}
			}
		}
		return nil
	})
	if err != nil || len(found) < 50 {
		t.Fatalf("%d traces with messages to %s: %v", len(found), kind, err)
	}
	return found
}

// strangers are what a value may become: a word nobody knows, and other types.
var strangers = []any{"from-the-future", 7, nil, map[string]any{"kind": "from-the-future"}}

// mutations are the copies of a message in which one text or number of its
// params or result, each in its turn, became something else. Numbers that must
// rise go on from those before, so that no copy passes for a repetition.
func (n *numbering) mutations(t *testing.T, message string) (list []string) {
	var root map[string]any
	if err := ahp.Unmarshal([]byte(message), &root); err != nil {
		return nil // no object
	}
	emit := func() {
		n.renumber(root)
		list = append(list, string(must(json.Marshal(root, json.Deterministic(true)))(t)))
	}
	for _, name := range []string{"params", "result"} {
		if v, ok := root[name]; ok {
			mutate(v, func(v any) { root[name] = v }, emit)
		}
	}
	return list
}

// numbering counts the messages of a conversation.
type numbering float64

func (n *numbering) renumber(message map[string]any) {
	params, _ := message["params"].(map[string]any)
	for _, name := range []string{"clientSeq", "serverSeq"} {
		if _, ok := params[name].(float64); ok {
			*n++
			params[name] = float64(*n)
		}
	}
}

// mutate puts every stranger in the place of every text and number within v. Set
// changes v itself, and emit takes the message as it then is.
func mutate(v any, set func(any), emit func()) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			mutate(v[name], func(x any) { v[name] = x }, emit)
		}
	case []any:
		for i := range v {
			mutate(v[i], func(x any) { v[i] = x }, emit)
		}
	case string, float64:
		for _, s := range strangers {
			set(s)
			emit()
		}
		set(v)
	}
}

// panics is a log that fails a test when a panic is reported in it.
type panics struct{ t *testing.T }

func (p panics) Enabled(context.Context, slog.Level) bool { return true }
func (p panics) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p panics) WithGroup(string) slog.Handler            { return p }
func (p panics) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "panic") {
		r.Attrs(func(a slog.Attr) bool { p.t.Errorf("%s: %s=%v", r.Message, a.Key, a.Value); return true })
	}
	return nil
}

// Whatever a client gets wrong, or a newer one means by it, the host neither
// breaks nor lets it reach anybody else: every text and number of every message in
// the golden traces becomes something unknown, in its turn (25).
func TestTheHostSurvivesEveryUnknownValue(t *testing.T) {
	for name, messages := range golden(t, "send") {
		t.Run(name, func(t *testing.T) {
			o := host.Options{Log: slog.New(panics{t})}
			bubbleWith(t, talker(kilobytes), o, func(t *testing.T, w *world) { mutateToHost(t, w, messages) })
		})
	}
}

func mutateToHost(t *testing.T, w *world, messages []string) {
	bystander := w.client("bystander")
	session := w.session(bystander)
	chat := must(session.DefaultChat(t.Context()))(t)
	here := strings.NewReplacer("ahp-session:/s", session.URI(), "ahp-chat:/c", chat.URI())
	var early, late *raw
	var n numbering
	for _, m := range messages {
		for _, mutant := range n.mutations(t, here.Replace(m)) {
			early = w.tell(early, "early", mutant, "")
			late = w.tell(late, "late", mutant, initialize("late", session.URI(), chat.URI()))
		}
	}
	synctest.Wait()
	if s := bystander.Stats(); s.Connections != 1 || s.Malformed != 0 {
		t.Errorf("the bystander has seen %+v", s)
	}
	if chat.Err() != nil {
		return // disposed of, as a message said
	}
	if err := bystander.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	want := must(ahp.Marshal(w.h.State(chat.URI())))(t)
	if got := must(ahp.Marshal(chat.State()))(t); string(got) != string(want) {
		t.Errorf("the bystander has\n     %s\nwant %s", got, want)
	}
}

// tell sends a message on a connection, or on a new one that begins with the
// greeting when that has ended. Answers are read and dropped.
func (w *world) tell(p *raw, name, message, greeting string) *raw {
	if p != nil && p.conn.Write([][]byte{[]byte(message)}) == nil {
		return p
	}
	p = w.raw(name)
	go func() {
		for {
			if _, err := p.conn.Read(); err != nil {
				return
			}
		}
	}()
	if greeting != "" {
		p.say(greeting)
	}
	p.say(message)
	return p
}

// Whatever a host of another version says, our client stays connected, and goes
// on reducing what it knows (25).
func TestTheClientSurvivesEveryUnknownValue(t *testing.T) {
	total := 0
	for _, messages := range golden(t, "expect") {
		synctest.Test(t, func(t *testing.T) {
			near, far := memory.Pair(memory.Options{})
			c := client.New(t.Context(), func(context.Context) (transport.Conn, error) { return near, nil }, client.Options{})
			defer c.Close()
			h := &newerHost{conn: far}
			go h.answer()
			if err := c.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			s := must(c.Session(t.Context(), "ahp-session:/s"))(t)
			must(c.Chat(t.Context(), "ahp-chat:/c"))(t)
			must(c.Sessions(t.Context()))(t)
			var n numbering
			for _, m := range messages {
				if strings.Contains(m, `"id":`) {
					continue // an answer, to what was not asked
				}
				for _, mutant := range n.mutations(t, m) {
					h.say(mutant)
					total++
				}
			}
			synctest.Wait()
			h.say(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/s","action":{"type":"session/titleChanged","title":"known"},"serverSeq":1000000}}`)
			synctest.Wait()
			if s.Err() == nil && s.State().Title != "known" {
				t.Errorf("the title is %q", s.State().Title)
			}
			if st := c.Status(); st.State != client.Live {
				t.Errorf("the client is %v", st)
			}
		})
	}
	if total < 1000 {
		t.Errorf("only %d mutants", total)
	}
}

// newerHost answers the requests of one client and says what it is told to.
type newerHost struct{ conn *memory.Conn }

func (h *newerHost) say(m string) { _ = h.conn.Write([][]byte{[]byte(m)}) }

func (h *newerHost) answer() {
	for {
		m, err := h.conn.Read()
		if err != nil {
			return
		}
		id, ok := jsonrpc.Member(m, "id")
		if !ok {
			continue
		}
		h.say(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + newerResult(m) + `}`)
	}
}

// newerResult is the answer to a request.
func newerResult(m []byte) string {
	method, _ := jsonrpc.Member(m, "method")
	params, _ := jsonrpc.Member(m, "params")
	channel, _ := jsonrpc.Member(params, "channel")
	switch string(method) {
	case `"initialize"`:
		return `{"protocolVersion":"1.1.0","serverSeq":0,"snapshots":[]}`
	case `"listSessions"`:
		return `{"items":[]}`
	case `"subscribe"`:
		return `{"snapshot":{"resource":` + string(channel) + `,"state":{"agents":[],"turns":[],"status":1,"title":"first","chats":[],"activeClients":[]},"fromSeq":0}}`
	}
	return `null`
}

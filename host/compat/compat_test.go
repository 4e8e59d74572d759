package compat

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

func TestDialectOfAVersion(t *testing.T) {
	for version, want := range map[string]Dialect{
		"1.0.0": Canonical, "1.7.3": Canonical, "0.9.0": V09, "0.9.4": V09,
		"0.6.0": V06, "0.6.9": V06, "0.5.2": V052, "0.5.1": V051, "nonsense": Canonical,
	} {
		if got := Of(version); got != want {
			t.Errorf("Of(%s) = %d, want %d", version, got, want)
		}
	}
}

// down is one difference between the canonical form and that of a dialect. An
// empty want means the same value; "-" that it is not sent.
type down struct {
	name      string
	dialect   Dialect
	canonical string
	want      string
}

var actionRows = []down{
	{"what is the same is left alone", V06, `{"type":"chat/delta","turnId":"t","partId":"p","content":"x"}`, ``},
	{"a newer type is not sent", V06, `{"type":"chat/turnResume","turnId":"t"}`, `-`},
	{"0.9 has what came with it", V09, `{"type":"chat/turnResume","turnId":"t"}`, ``},
	{"0.10 is newer than 0.9", V09, `{"type":"chat/canvasesChanged"}`, `-`},
	{"0.5.2 knows no tool authentication", V052, `{"type":"chat/toolCallAuthResolved","turnId":"t","toolCallId":"c"}`, `-`},
	{"0.5.1 cannot start MCP servers", V051, `{"type":"session/mcpServerStartRequested","id":"m"}`, `-`},
	{"unknown types go to everybody", V06, `{"type":"x-mine/thing","n":1}`, ``},
	{"review under its older name", V052, `{"type":"changeset/filesReviewChanged","files":["a"],"reviewed":true}`,
		`{"type":"changeset/filesReviewedChanged","fileIds":["a"],"reviewed":true}`},
	{"review as 0.6 has it", V06, `{"type":"changeset/filesReviewChanged","files":["a"],"reviewed":true}`, ``},
	{"recomputing came with 1.0", V09, `{"type":"changeset/statusChanged","status":"recomputing"}`, `{"type":"changeset/statusChanged","status":"computing"}`},
	{"errors were no parts", V06, `{"type":"chat/error","turnId":"t","duration":1,"part":{"kind":"error","error":{"errorType":"e","message":"m"},"resumable":true}}`,
		`{"type":"chat/error","turnId":"t","duration":1,"error":{"errorType":"e","message":"m"}}`},
	{"an error part is not sent as one", V06, `{"type":"chat/responsePart","turnId":"t","part":{"kind":"error","error":{"errorType":"e","message":"m"}}}`, `-`},
	{"enablement in effect", V06, `{"type":"session/customizationToggled","id":"c","enablement":[{"kind":"session","enabled":false},{"kind":"global","enabled":true}]}`,
		`{"type":"session/customizationToggled","id":"c","enabled":false}`},
	{"no enablement means enabled", V06, `{"type":"session/customizationToggled","id":"c","enablement":[]}`,
		`{"type":"session/customizationToggled","id":"c","enabled":true}`},
	{"input by reference", V06, `{"type":"chat/toolCallReady","turnId":"t","toolCallId":"c","invocationMessage":"m","toolInput":{"uri":"file:///x"}}`,
		`{"type":"chat/toolCallReady","turnId":"t","toolCallId":"c","invocationMessage":"m"}`},
	{"a delta without content", V06, `{"type":"chat/toolCallDelta","turnId":"t","toolCallId":"c"}`,
		`{"type":"chat/toolCallDelta","turnId":"t","toolCallId":"c","content":""}`},
	{"what a terminal came to", V06,
		`{"type":"chat/toolCallComplete","turnId":"t","toolCallId":"c","result":{"success":true,"pastTenseMessage":"ran","content":[{"type":"text","text":"a"},{"type":"terminal","resource":"ahp-terminal:/1","title":"T","result":{"exitCode":3}}]}}`,
		`{"type":"chat/toolCallComplete","turnId":"t","toolCallId":"c","result":{"success":true,"pastTenseMessage":"ran","content":[{"type":"text","text":"a"},{"type":"terminal","resource":"ahp-terminal:/1","title":"T"},{"type":"terminalComplete","resource":"ahp-terminal:/1","exitCode":3}]}}`},
	{"an automation's message", V06, `{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"x","origin":{"kind":"automation"}}}`,
		`{"type":"chat/turnStarted","turnId":"t","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"x","origin":{"kind":"systemNotification"}}}`},
	{"an attached chat", V06, `{"type":"chat/draftChanged","draft":{"text":"x","origin":{"kind":"user"},"attachments":[{"type":"chat","label":"L","resource":"ahp-chat:/1"}]}}`,
		`{"type":"chat/draftChanged","draft":{"text":"x","origin":{"kind":"user"},"attachments":[{"type":"simple","label":"L"}]}}`},
	{"a terminal's exit code", V06, `{"type":"root/terminalsChanged","terminals":[{"resource":"ahp-terminal:/1","title":"T","claim":{"kind":"client","clientId":"c"},"lifecycle":{"status":"exited","exitCode":2}}]}`,
		`{"type":"root/terminalsChanged","terminals":[{"resource":"ahp-terminal:/1","title":"T","claim":{"kind":"client","clientId":"c"},"exitCode":2}]}`},
	{"a chat's directories", V06, `{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{"workingDirectories":["file:///a","file:///b"]}}`,
		`{"type":"session/chatUpdated","chat":"ahp-chat:/1","changes":{"workingDirectory":"file:///a"}}`},
	{"an annotation's anchor", V06, `{"type":"annotations/set","annotation":{"id":"a","origin":{"session":"ahp-session:/1","turnId":"t"},"resource":"file:///x","resolved":false,"entries":[{"id":"e","text":"x"}]}}`,
		`{"type":"annotations/set","annotation":{"id":"a","turnId":"t","resource":"file:///x","resolved":false,"entries":[{"id":"e","text":"x"}]}}`},
}

func TestActions(t *testing.T) {
	for _, r := range actionRows {
		t.Run(r.name, func(t *testing.T) {
			got := r.dialect.Action(jsontext.Value(r.canonical))
			switch r.want {
			case "-":
				if got != nil {
					t.Fatalf("sent %s, want nothing", got)
				}
				return
			case "":
				if string(got) != r.canonical {
					t.Fatalf("got %s, want it unchanged", got)
				}
			default:
				wantJSON(t, got, r.want)
			}
			if r.dialect == V06 && r.name != "unknown types go to everybody" {
				raw, _ := jsonrpc.Member(got, "type")
				schema(t, "actions", string(raw))(t, got)
			}
			if same := Canonical.Action(jsontext.Value(r.canonical)); string(same) != r.canonical {
				t.Errorf("the canonical form was changed to %s", same)
			}
		})
	}
}

var stateRows = []struct {
	name      string
	kind      ahp.Kind
	def       string
	canonical string
	want      string
}{
	{"session", ahp.KindSession, "SessionState",
		`{"provider":"p","title":"T","status":1,"lifecycle":"failed","creationError":{"errorType":"e","message":"m"},"workingDirectories":["file:///a","file:///b"],"activeClients":[{"clientId":"c","tools":[]}],
		  "chats":[{"resource":"ahp-chat:/1","title":"C","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","origin":{"kind":"sideChat","chat":"ahp-chat:/2","turnId":"t"}}],
		  "customizations":[{"type":"plugin","id":"x","uri":"file:///p","name":"P","enablement":[{"kind":"global","enabled":false}],"children":[{"type":"mcpServer","id":"m","uri":"file:///m","name":"M","state":{"kind":"stopped"}}]}]}`,
		`{"provider":"p","title":"T","status":1,"lifecycle":"creationFailed","creationError":{"errorType":"e","message":"m"},"activeClients":[{"clientId":"c","tools":[]}],
		  "chats":[{"resource":"ahp-chat:/1","title":"C","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z"}],
		  "customizations":[{"type":"plugin","id":"x","uri":"file:///p","name":"P","enabled":false,"children":[{"type":"mcpServer","id":"m","uri":"file:///m","name":"M","state":{"kind":"stopped"},"enabled":true}]}],
		  "workingDirectory":"file:///a"}`},
	{"chat", ahp.KindChat, "ChatState",
		`{"resource":"ahp-chat:/1","title":"C","status":2,"modifiedAt":"2026-01-01T00:00:00.000Z","workingDirectories":[],
		  "turns":[{"id":"t","message":{"text":"x","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p","content":"hello"},{"kind":"error","error":{"errorType":"e","message":"m"}}],"state":"error"}]}`,
		`{"resource":"ahp-chat:/1","title":"C","status":2,"modifiedAt":"2026-01-01T00:00:00.000Z",
		  "turns":[{"id":"t","message":{"text":"x","origin":{"kind":"user"}},"responseParts":[{"kind":"markdown","id":"p","content":"hello"}],"state":"error","error":{"errorType":"e","message":"m"}}]}`},
	{"running call", ahp.KindChat, "ChatState",
		`{"resource":"ahp-chat:/1","title":"C","status":8,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[],
		  "activeTurn":{"id":"t","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"x","origin":{"kind":"user"}},"responseParts":[
		    {"kind":"toolCall","toolCall":{"status":"running","toolCallId":"c","toolName":"n","displayName":"N","invocationMessage":"i","toolInput":{"uri":"file:///x"},"confirmed":"not-needed"}}]}}`,
		`{"resource":"ahp-chat:/1","title":"C","status":8,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[],
		  "activeTurn":{"id":"t","startedAt":"2026-01-01T00:00:00.000Z","message":{"text":"x","origin":{"kind":"user"}},"responseParts":[
		    {"kind":"toolCall","toolCall":{"status":"running","toolCallId":"c","toolName":"n","displayName":"N","invocationMessage":"i","confirmed":"not-needed"}}]}}`},
	{"terminal", ahp.KindTerminal, "TerminalState",
		`{"title":"T","content":[],"claim":{"kind":"client","clientId":"c"},"lifecycle":{"status":"running"}}`,
		`{"title":"T","content":[],"claim":{"kind":"client","clientId":"c"}}`},
	{"changeset", ahp.KindChangeset, "ChangesetState", `{"status":"recomputing","files":[]}`, `{"status":"computing","files":[]}`},
	{"annotations", ahp.KindAnnotations, "AnnotationsState",
		`{"annotations":[{"id":"a","origin":{"session":"ahp-session:/1"},"resource":"file:///x","resolved":true,"entries":[{"id":"e","text":"x"}]}]}`,
		`{"annotations":[{"id":"a","turnId":"","resource":"file:///x","resolved":true,"entries":[{"id":"e","text":"x"}]}]}`},
	{"root", ahp.KindRoot, "RootState",
		`{"agents":[{"provider":"p","displayName":"P","description":"d","models":[],"customizations":[{"type":"plugin","id":"x","uri":"file:///p","name":"P"}]}]}`,
		`{"agents":[{"provider":"p","displayName":"P","description":"d","models":[],"customizations":[{"type":"plugin","id":"x","uri":"file:///p","name":"P","enabled":true}]}]}`},
}

func TestStates(t *testing.T) {
	for _, r := range stateRows {
		t.Run(r.name, func(t *testing.T) {
			got := V06.State(r.kind, jsontext.Value(r.canonical))
			wantJSON(t, got, r.want)
			schema(t, "state", r.def)(t, got)
			if same := Canonical.State(r.kind, jsontext.Value(r.canonical)); string(same) != r.canonical {
				t.Errorf("the canonical form was changed to %s", same)
			}
		})
	}
}

func TestDispatchedActionsBecomeCanonical(t *testing.T) {
	for _, r := range []struct {
		name, from, want string
		dialect          Dialect
	}{
		{"toggled", `{"type":"session/customizationToggled","id":"c","enabled":false}`,
			`{"type":"session/customizationToggled","id":"c","enablement":[{"kind":"session","enabled":false}]}`, V06},
		{"reviewed", `{"type":"changeset/filesReviewedChanged","fileIds":["a"],"reviewed":true}`,
			`{"type":"changeset/filesReviewChanged","files":["a"],"reviewed":true}`, V051},
		{"terminal", `{"type":"chat/toolCallContentChanged","turnId":"t","toolCallId":"c","content":[{"type":"terminal","resource":"r","title":"T"},{"type":"terminalComplete","resource":"r","exitCode":1,"cwd":"file:///x"}]}`,
			`{"type":"chat/toolCallContentChanged","turnId":"t","toolCallId":"c","content":[{"type":"terminal","resource":"r","title":"T","result":{"exitCode":1}}]}`, V06},
	} {
		t.Run(r.name, func(t *testing.T) {
			up := r.dialect.Dispatched(jsontext.Value(r.from))
			wantJSON(t, up, r.want)
			if again := V09.Dispatched(jsontext.Value(r.want)); string(again) != r.want {
				t.Errorf("0.9 changed its own form to %s", again)
			}
			// An echo returns in the words of who dispatched it.
			if action, err := ahp.DecodeAction(up); err != nil || !ahp.Known(action.ActionType()) {
				t.Errorf("decode %s: %v", up, err)
			}
			if echo := r.dialect.Action(up); echo == nil {
				t.Error("its own echo is not sent")
			}
		})
	}
}

func TestParams(t *testing.T) {
	got, err := V06.Params(ahp.MethodCreateSession, jsontext.Value(`{"channel":"ahp-session:/1","workingDirectory":"file:///a"}`))
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, got, `{"channel":"ahp-session:/1","workingDirectories":["file:///a"]}`)
	got, err = V06.Params(ahp.MethodCreateChat, jsontext.Value(`{"channel":"s","source":{"chat":"c","turnId":"t"}}`))
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, got, `{"channel":"s","source":{"chat":"c","turnId":"t","kind":"fork"}}`)
	if _, err = V06.Params(ahp.MethodCreateSession, jsontext.Value(`{"channel":"s","fork":{"session":"x","turnId":"t"}}`)); err == nil {
		t.Error("createSession with fork was accepted: it would make an empty session")
	}
}

func TestNotificationsAndResults(t *testing.T) {
	wantJSON(t, V06.Notification(ahp.MethodSessionSummaryChanged, jsontext.Value(`{"session":"s","changes":{"workingDirectories":["file:///a"]}}`)),
		`{"session":"s","changes":{"workingDirectory":"file:///a"}}`)
	wantJSON(t, V06.Notification(ahp.MethodAuthRequired, jsontext.Value(`{"channel":"c","resource":{"resource":"https://x","scopes_supported":["a"]}}`)),
		`{"channel":"c","resource":"https://x"}`)
	wantJSON(t, V09.Notification(ahp.MethodAuthRequired, jsontext.Value(`{"channel":"c","resource":{"resource":"https://x"}}`)),
		`{"channel":"c","resource":{"resource":"https://x"}}`)
	wantJSON(t, V06.Result(ahp.MethodListSessions, jsontext.Value(`{"items":[{"resource":"s","workingDirectories":["file:///a"]}]}`)),
		`{"items":[{"resource":"s","workingDirectory":"file:///a"}]}`)
}

// FuzzRewrite: whatever an action or a state holds, the rewritten one is JSON,
// and one that nothing of changes is the very same.
func FuzzRewrite(f *testing.F) {
	for _, r := range actionRows {
		f.Add([]byte(r.canonical), uint8(r.dialect))
	}
	for _, r := range stateRows {
		f.Add([]byte(r.canonical), uint8(V06))
	}
	kinds := []ahp.Kind{ahp.KindRoot, ahp.KindSession, ahp.KindChat, ahp.KindTerminal, ahp.KindChangeset, ahp.KindAnnotations}
	f.Fuzz(func(t *testing.T, raw []byte, dialect uint8) {
		v := jsontext.Value(raw)
		if !v.IsValid() {
			return
		}
		d := Dialect(dialect % uint8(len(newest)))
		check := func(what string, got jsontext.Value) {
			if got != nil && !got.IsValid() {
				t.Errorf("%s of %s is no JSON: %s", what, raw, got)
			}
		}
		check("action", d.Action(v))
		check("dispatched", d.Dispatched(v))
		for _, kind := range kinds {
			check(string(kind), d.State(kind, v))
		}
		if params, err := d.Params(ahp.MethodCreateSession, v); err == nil {
			check("params", params)
		}
	})
}

func wantJSON(t *testing.T, got jsontext.Value, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("got %s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// schema returns a check against a definition of the 0.6 schema: that of a name,
// or of the action whose type, quoted, is given.
func schema(t *testing.T, file, def string) func(t *testing.T, v jsontext.Value) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "schema", file+".schema.json"))
	if os.IsNotExist(err) {
		t.Skip("the 0.6 schema is not beside this project")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := new(jsonschema.Schema)
	if err := s.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	s.ID, s.Ref = "", "#/$defs/"+definition(s, def)
	for name, d := range s.Defs {
		// The generated file has unions with a reference to nothing.
		d.OneOf = slices.DeleteFunc(d.OneOf, func(o *jsonschema.Schema) bool { return o.Ref == "#/$defs/" })
		d.AnyOf = slices.DeleteFunc(d.AnyOf, func(o *jsonschema.Schema) bool { return o.Ref == "#/$defs/" })
		// It calls members required that may be undefined.
		d.Required = slices.DeleteFunc(d.Required, func(member string) bool { return member == "usage" })
		s.Defs[name] = d
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, v jsontext.Value) {
		t.Helper()
		var tree any
		if err := json.Unmarshal(v, &tree); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(tree); err != nil {
			t.Errorf("not what 0.6 calls a %s: %v\n%s", def, err, v)
		}
	}
}

// definition finds the definition of an action by its type.
func definition(s *jsonschema.Schema, def string) string {
	name, quoted := jsonrpc.StringValue(jsontext.Value(def))
	if !quoted {
		return def
	}
	for key, d := range s.Defs {
		if p := d.Properties["type"]; p != nil && p.Const != nil && *p.Const == name {
			return key
		}
	}
	return def
}

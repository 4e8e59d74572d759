package ahp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// unions are all types with variants: the member that names the variant, some
// known ones and what of an unknown one is understood.
var unions = []struct {
	create func() any
	disc   string
	known  []string // members of variants, whole
	key    func(any) string
}{
	{
		create: func() any { return new(ResponsePart) }, disc: "kind",
		known: []string{
			`{"kind":"markdown","id":"a","content":"x"}`,
			`{"kind":"reasoning","id":"a","content":""}`,
			`{"kind":"toolCall","toolCall":{"status":"streaming","toolCallId":"a","toolName":"n","displayName":"N","partialInput":"{"}}`,
			`{"kind":"contentRef","uri":"u","sizeHint":3,"contentType":"t","nonce":"n"}`,
			`{"kind":"systemNotification","content":{"markdown":"*x*"},"_meta":{"m":1}}`,
			`{"kind":"inputRequest","request":{"id":"a","questions":[],"answers":{}},"response":"accept"}`,
			`{"kind":"error","error":{"errorType":"e","message":"m","stack":""},"resumable":false}`,
		},
		key: func(v any) string { return v.(*ResponsePart).Key() },
	},
	{
		create: func() any { return new(ToolCall) }, disc: "status",
		known: []string{
			`{"status":"pending-confirmation","toolCallId":"a","toolName":"","displayName":"","invocationMessage":"","toolInput":{"uri":"u"},"confirmationTitle":{"markdown":""},"riskAssessment":{"kind":"judge","status":"complete","reason":"r","safety":0},"edits":{"items":[{"after":{"uri":"u","content":{"uri":"c"}},"diff":{"added":0}}]},"editable":false,"options":[{"id":"o","label":"","kind":"approve","group":0}]}`,
			`{"status":"completed","toolCallId":"a","toolName":"","displayName":"","invocationMessage":"","confirmed":"setting","success":false,"pastTenseMessage":"","content":[],"structuredContent":{},"error":{"message":"","code":"c"}}`,
			`{"status":"auth-required","toolCallId":"a","toolName":"","displayName":"","contributor":{"kind":"mcp","customizationId":"c"},"auth":{"reason":"expired","oauthClient":{"clientId":"c"},"resource":{"resource":"r","scopes_supported":[]},"requiredScopes":["s"]}}`,
		},
		key: func(v any) string { return v.(*ToolCall).ToolCallID },
	},
	{
		create: func() any { return new(ToolResultContent) }, disc: "type",
		known: []string{
			`{"type":"text","text":""}`, `{"type":"embeddedResource","data":"AA==","contentType":"t"}`, `{"type":"resource","uri":"u","sizeHint":0}`,
			`{"type":"fileEdit","before":{"uri":"u","content":{"uri":"c"}}}`, `{"type":"subagent","resource":"r","title":"t","agentName":"a"}`,
			`{"type":"terminal","resource":"r","title":"t","isPty":false,"result":{"exitCode":0,"preview":"p","truncated":true}}`,
		},
	},
	{
		create: func() any { return new(MessageAttachment) }, disc: "type",
		known: []string{
			`{"type":"simple","label":"l","modelRepresentation":"m","displayKind":"future"}`,
			`{"type":"embeddedResource","label":"l","data":"","contentType":"t","selection":{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}}`,
			`{"type":"annotations","label":"l","resource":"r","annotationIds":[]}`, `{"type":"chat","label":"l","resource":"r","endTurn":"t"}`,
		},
	},
	{
		create: func() any { return new(ChatInputQuestion) }, disc: "kind",
		known: []string{
			`{"kind":"text","id":"a","message":"m","format":"future","min":0,"defaultValue":""}`, `{"kind":"boolean","id":"a","message":"m","defaultValue":false}`,
			`{"kind":"multi-select","id":"a","message":"m","options":[{"id":"o","label":"l","recommended":false}],"allowFreeformInput":false,"max":2}`,
		},
		key: func(v any) string { return v.(*ChatInputQuestion).ID },
	},
	{
		create: func() any { return new(Customization) }, disc: "type",
		known: []string{
			`{"type":"plugin","id":"a","uri":"u","name":"n","enablement":[{"kind":"workspace","uri":"w","enabled":false}],"childEnablement":{"c":[]},"load":{"kind":"degraded","message":"m"},"children":[]}`,
			`{"type":"directory","id":"a","uri":"u","name":"n","enabled":false,"contents":"skill","writable":false,"icons":[{"src":"s","theme":"dark"}]}`,
			`{"type":"mcpServer","id":"a","uri":"u","name":"n","state":{"kind":"starting","blocking":false},"mcpApp":{"capabilities":{}}}`,
		},
		key: func(v any) string { return v.(*Customization).ID },
	},
	{
		create: func() any { return new(MCPServerState) }, disc: "kind",
		known: []string{
			`{"kind":"ready"}`, `{"kind":"error","error":{"errorType":"e","message":"m"}}`,
			`{"kind":"authRequired","reason":"insufficientScope","resource":{"resource":"r"},"requiredScopes":[],"description":"d"}`,
		},
	},
	{
		create: func() any { return new(SessionInputRequest) }, disc: "kind",
		known: []string{
			`{"kind":"chatInput","id":"a","chat":"c","request":{"id":"r"}}`,
			`{"kind":"toolConfirmation","id":"a","chat":"c","turnId":"t","toolCall":{"status":"future","toolCallId":"x"}}`,
		},
		key: func(v any) string { return v.(*SessionInputRequest).ID },
	},
	{
		create: func() any { return new(BackgroundWork) }, disc: "kind",
		known: []string{`{"kind":"shell","id":"a","label":"l","startedAt":"s","command":"c","terminal":"t"}`, `{"kind":"subagent","id":"a","label":"l","startedAt":"s","chat":"c"}`},
		key:   func(v any) string { return v.(*BackgroundWork).ID },
	},
	{
		create: func() any { return new(TerminalPart) }, disc: "type",
		known: []string{`{"type":"unclassified","value":""}`, `{"type":"command","commandId":"a","commandLine":"","output":"","timestamp":0,"isComplete":false,"exitCode":0,"durationMs":0}`},
	},
}

// TestUnions: known variants, known variants with unknown members and unknown
// variants survive a round trip, even where an unknown variant gives another
// type to a name we know (AHP channels, 4.31).
func TestUnions(t *testing.T) {
	const unknown = `"id":"a","toolCallId":"a","content":7,"children":{"x":null},"request":[],"label":{},"state":"s","zz":{"y":[null]}`
	for _, u := range unions {
		name := fmt.Sprintf("%T", u.create())
		for _, raw := range u.known {
			equalJSON(t, jsontext.Value(raw), again(t, jsontext.Value(raw), u.create()))
			extended := strings.TrimSuffix(raw, "}") + `,"zzFuture":{"a":[1]}}`
			equalJSON(t, jsontext.Value(extended), again(t, jsontext.Value(extended), u.create()))
		}
		raw := jsontext.Value(`{` + unknown + `,"` + u.disc + `":"future/variant"}`)
		v := u.create()
		equalJSON(t, raw, again(t, raw, v))
		if u.key != nil && u.key(v) != "a" {
			t.Errorf("%s: an unknown variant has the key %q, want a", name, u.key(v))
		}
	}
}

// TestUnknownEnumValues: an unknown value of a string set survives.
func TestUnknownEnumValues(t *testing.T) {
	for _, c := range []struct {
		into any
		in   string
	}{
		{new(Turn), `{"id":"t","responseParts":[],"state":"future"}`},
		{new(SessionState), `{"provider":"","title":"","status":1,"lifecycle":"future","activeClients":[],"chats":[]}`},
		{new(ChatOrigin), `{"kind":"future","chat":"c","zz":1}`},
		{new(Message), `{"text":"","origin":{"kind":"future","zz":1}}`},
		{new(ChatInfo), `{"resource":"","title":"","status":1,"modifiedAt":"","interactivity":"future"}`},
		{new(ToolCallContributor), `{"kind":"future","clientId":"c"}`},
		{new(RiskAssessment), `{"kind":"future","status":"future"}`},
		{new(TerminalClaim), `{"kind":"future"}`},
		{new(TerminalLifecycle), `{"status":"future"}`},
		{new(ChangesetState), `{"status":"future","files":[]}`},
		{new(Changeset), `{"label":"","uriTemplate":"","changeKind":"future"}`},
		{new(ChangesetOperation), `{"id":"","label":"","scopes":["future"],"status":"future"}`},
		{new(Enablement), `{"kind":"future","enabled":true}`},
		{new(CustomizationLoad), `{"kind":"future"}`},
		{new(ResourceChange), `{"uri":"","type":"future"}`},
		{new(ChatInputAnswer), `{"state":"future","value":{"kind":"future","value":{}}}`},
	} {
		equalJSON(t, jsontext.Value(c.in), again(t, jsontext.Value(c.in), c.into))
	}
}

func TestTextOrObject(t *testing.T) {
	for _, raw := range []string{`""`, `"a"`, `{"markdown":""}`, `{"markdown":"*a*","zz":{"x":1}}`} {
		equalJSON(t, jsontext.Value(raw), again(t, jsontext.Value(raw), new(StringOrMarkdown)))
	}
	for _, raw := range []string{`""`, `"{}"`, `{"uri":"u"}`, `{"uri":"u","nonce":"","zz":1}`} {
		equalJSON(t, jsontext.Value(raw), again(t, jsontext.Value(raw), new(ToolInput)))
	}
	for _, raw := range []string{`7`, `[]`, `true`} {
		if err := Unmarshal([]byte(raw), new(StringOrMarkdown)); err == nil {
			t.Errorf("%s was taken for a text", raw)
		}
		if err := Unmarshal([]byte(raw), new(ToolInput)); err == nil {
			t.Errorf("%s was taken for an input", raw)
		}
	}
}

// TestResponsePartNeedsObject: what is no object never gets into a list of parts.
func TestResponsePartNeedsObject(t *testing.T) {
	for _, raw := range []string{`null`, `"x"`, `7`, `[]`} {
		if err := Unmarshal([]byte(raw), new(ResponsePart)); err == nil {
			t.Errorf("%s was taken for a part", raw)
		}
		if err := Unmarshal([]byte(`{"responseParts":[`+raw+`]}`), new(Turn)); err == nil {
			t.Errorf("%s was taken for an element", raw)
		}
	}
	if _, err := Marshal(ResponsePart{}); err == nil {
		t.Error("no part was encoded")
	}
	if got := (ResponsePart{}).Key() + (&ToolCallPart{}).Key(); got != "" {
		t.Errorf("no part has the key %q", got)
	}
}

// TestChatStateHasHeader: reducers rely on the header.
func TestChatStateHasHeader(t *testing.T) {
	for _, raw := range []string{`{}`, `null`, `{"turns":[],"zz":1}`} {
		var s ChatState
		if err := Unmarshal([]byte(raw), &s); err != nil || s.ChatHeader == nil {
			t.Errorf("%s: header %v, error %v", raw, s.ChatHeader, err)
		}
	}
}

func TestJavaScriptPeers(t *testing.T) {
	var m Message
	if err := Unmarshal([]byte(`{"text":"a\ud800b","origin":{"kind":"user"},"_meta":{"k":"\udc00"}}`), &m); err != nil {
		t.Fatal(err)
	}
	if m.Text != "a\ufffdb" {
		t.Errorf("text %q, want the surrogate replaced", m.Text)
	}
	if _, err := Marshal(m); err != nil {
		t.Errorf("encode: %v", err)
	}
	if err := Unmarshal([]byte(`{"text":"a","text":"b"}`), &m); err == nil {
		t.Error("a duplicate name was accepted")
	}
}

func TestStatus(t *testing.T) {
	s := Status(1<<31 | 97)
	for _, c := range []struct {
		what      string
		got, want Status
	}{
		{"activity", s.Activity(), StatusIdle},
		{"with activity", s.WithActivity(StatusInputNeeded), 1<<31 | 120},
		{"with flag", s.With(StatusIsRead, true), s},
		{"without flag", s.With(StatusIsArchived, false), 1<<31 | 33},
		{"without input", (s + 23).WithoutInput(), 1<<31 | 104},
		{"idle without input", s.WithoutInput(), s},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	if !StatusInputNeeded.Has(StatusInProgress) || StatusInProgress.Has(StatusInputNeeded) {
		t.Error("input needed contains in progress, not the other way round")
	}
}

func TestKindOf(t *testing.T) {
	for uri, want := range map[URI]Kind{
		RootURI: KindRoot, "ahp-session:/1": KindSession, AnnotationsURI("ahp-session:/1"): KindAnnotations,
		"ahp-chat:/1": KindChat, "ahp-terminal:/1": KindTerminal, "ahp-changeset:/1": KindChangeset,
		"ahp-resource-watch:/1": KindResourceWatch, "ahp-root://x": KindUnknown, "": KindUnknown, "AHP-CHAT:/1": KindUnknown, "ahp-tcp:/t1": KindTCP, "ahp-tcp:1": KindTCP,
	} {
		if got := KindOf(uri); got != want {
			t.Errorf("KindOf(%q) = %q, want %q", uri, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, bad := range []string{"", "1", "1.0", "1.0.0.0", "01.0.0", "1.00.0", "+1.0.0", "-1.0.0", "1.0.x", "1.0.0-rc", " 1.0.0", "1.0.99999999999"} {
		if v, err := ParseVersion(bad); err == nil {
			t.Errorf("ParseVersion(%q) = %v, want an error", bad, v)
		}
	}
	for _, c := range []struct {
		offered []string
		chosen  string
		valid   bool
	}{
		{[]string{"1.0.0", "1.2.3", "1.2.0"}, "1.2.3", true},
		{[]string{"1.10.0", "1.9.0", "junk"}, "1.10.0", true},
		{[]string{"2.0.0"}, "", true},
		{[]string{"junk", ""}, "", false},
		{nil, "", false},
	} {
		chosen, valid := Negotiate(c.offered)
		if chosen != c.chosen || valid != c.valid {
			t.Errorf("Negotiate(%q) = %q, %t, want %q, %t", c.offered, chosen, valid, c.chosen, c.valid)
		}
	}
	if Current.String() != "1.1.0" || !Current.InCaret(Version{1, 0, 0}) || (Version{0, 9, 1}).InCaret(Version{0, 8, 0}) {
		t.Error("caret ranges")
	}
	old, young := Version{0, 9, 9}, Version{0, 10, 0}
	if !old.Less(young) || young.Less(old) || young.Less(young) {
		t.Error("the order of versions is numeric")
	}
}

func TestToolCall(t *testing.T) {
	ended := []string{ToolCompleted, ToolCancelled}
	waits := []string{ToolPendingConfirmation, ToolPendingResultConfirmation, ToolAuthRequired}
	for status := range toolStatuses {
		c := &ToolCall{Status: status}
		if c.Ended() != slices.Contains(ended, status) || c.WaitsForUser() != slices.Contains(waits, status) {
			t.Errorf("%s: ended %t, waits %t", status, c.Ended(), c.WaitsForUser())
		}
	}
	state := ChatState{ActiveTurn: &ActiveTurn{ID: "t", ResponseParts: NewList(
		ResponsePart{&ToolCallPart{}}, ResponsePart{&ToolCallPart{ToolCall: &ToolCall{ToolCallID: "x"}}})}}
	if c := state.ToolCallByID("t", "x"); c == nil || c.ToolCallID != "x" {
		t.Errorf("call x is %v", c)
	}
	if state.ToolCallByID("u", "x") != nil || state.ToolCallByID("t", "y") != nil || (&ChatState{}).ToolCallByID("t", "x") != nil {
		t.Error("found a call that is not there")
	}
}

func TestParseAnswer(t *testing.T) {
	for _, c := range []struct {
		value string
		ok    bool
	}{
		{`{"kind":"text","value":""}`, true}, {`{"kind":"selected-many","value":["a"],"freeformValues":["b"]}`, true},
		{``, false}, {`null`, false}, {`"text"`, false}, {`{"kind":"text"}`, false}, {`{"value":1}`, false},
	} {
		v, ok := ParseAnswer(ChatInputAnswer{State: AnswerDraft, Value: jsontext.Value(c.value)})
		if ok != c.ok {
			t.Errorf("ParseAnswer(%s) = %+v, %t, want %t", c.value, v, ok, c.ok)
		}
	}
}

func TestErrors(t *testing.T) {
	err := fmt.Errorf("subscribe: %w", UnsupportedVersions(SupportedRanges))
	if !errors.Is(err, ErrUnsupportedProtocolVersion) || errors.Is(err, ErrNotFound) {
		t.Errorf("%v is not matched by its code", err)
	}
	var e *Error
	if !errors.As(err, &e) || string(e.Data) != `{"supportedVersions":["^1.0.0","^0.9.0","^0.6.0","^0.5.1"]}` {
		t.Errorf("data %s", e.Data)
	}
	if ErrUnsupportedProtocolVersion.Data != nil {
		t.Error("the sentinel was changed")
	}
}

package ahp

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// outsideDir is the folder of outside data, named by CAUSEWAY_SHARED or called
// shared beside the module.
func outsideDir() string {
	if dir := os.Getenv("CAUSEWAY_SHARED"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "shared")
}

// outsideFiles lists outside files and skips the test, saying so, without any.
func outsideFiles(t *testing.T, pattern ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(append([]string{outsideDir()}, pattern...)...))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("outside fixtures not found: set CAUSEWAY_SHARED, or put the folder shared beside the module")
	}
	return files
}

// roundTrip is one case of the outside data. Preserved is what a reader that
// keeps unknown members writes, as ours does.
type roundTrip struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Input      jsontext.Value   `json:"input"`
	Acceptable []jsontext.Value `json:"acceptableOutputs"`
	Preserved  jsontext.Value   `json:"preservedOutput"`
}

// roundTripTypes are the Go types of the outside cases; JsonRpcMessage belongs
// to package jsonrpc.
var roundTripTypes = map[string]func() any{
	"ActionEnvelope":           func() any { return new(ActionEnvelope) },
	"StateAction":              func() any { return new(AnyAction) },
	"Customization":            func() any { return new(Customization) },
	"SessionStatus":            func() any { return new(Status) },
	"StringOrMarkdown":         func() any { return new(StringOrMarkdown) },
	"ChangesetOperationTarget": func() any { return new(ChangesetOperationTarget) },
	"ChatInputQuestion":        func() any { return new(ChatInputQuestion) },
	"SessionSummary":           func() any { return new(SessionSummary) },
	"SessionAddedParams":       func() any { return new(SessionAddedParams) },
	"PartialSessionSummary":    func() any { return new(SessionChanges) },
	"Implementation":           func() any { return new(Implementation) },
	"InitializeResult":         func() any { return new(InitializeResult) },
}

// TestOutsideRoundTrips runs the cases written by the authors of the protocol.
func TestOutsideRoundTrips(t *testing.T) {
	files := outsideFiles(t, "fixtures", "round-trip", "*.json")
	t.Logf("%d outside round trips", len(files))
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c roundTrip
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(c.Name, func(t *testing.T) {
			want := c.Preserved
			if want == nil {
				want = c.Acceptable[0]
			}
			equalJSON(t, want, c.again(t))
		})
	}
}

func (c *roundTrip) again(t *testing.T) jsontext.Value {
	if c.Type == "JsonRpcMessage" {
		return scanAgain(t, c.Input)
	}
	create, ok := roundTripTypes[c.Type]
	if !ok {
		t.Fatalf("type %s has no Go type here", c.Type)
	}
	return again(t, c.Input, create())
}

func scanAgain(t *testing.T, raw jsontext.Value) jsontext.Value {
	m, err := jsonrpc.Scan(raw)
	switch {
	case err != nil:
		t.Fatal(err)
	case m.Kind == jsonrpc.KindRequest:
		return jsonrpc.AppendRequest(nil, m.ID, m.Method, m.Params)
	case m.Kind == jsonrpc.KindNotification:
		return jsonrpc.AppendNotification(nil, m.Method, m.Params)
	case m.Error != nil:
		return jsonrpc.AppendError(nil, m.ID, m.Error)
	}
	return jsonrpc.AppendResult(nil, m.ID, m.Result)
}

// again decodes raw into v and encodes it.
func again(t *testing.T, raw jsontext.Value, v any) jsontext.Value {
	t.Helper()
	if err := Unmarshal(raw, v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	out, err := Marshal(v)
	if err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return out
}

// equalJSON compares without regard to the order of members. Absent is not null.
func equalJSON(t *testing.T, want, got jsontext.Value) {
	t.Helper()
	if d := cmp.Diff(anyJSON(t, want), anyJSON(t, got)); d != "" {
		t.Errorf("after a round trip (-want +got):\n%s", d)
	}
}

func anyJSON(t *testing.T, raw jsontext.Value) (v any) {
	t.Helper()
	if err := Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// TestOutsideSchemaActions: this build knows every action type of the outside
// schema.
func TestOutsideSchemaActions(t *testing.T) {
	raw, err := os.ReadFile(outsideFiles(t, "schema", "actions.schema.json")[0])
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties struct {
				Type struct {
					Const string `json:"const"`
				} `json:"type"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, def := range schema.Defs {
		name := def.Properties.Type.Const
		if prefix, _, ok := strings.Cut(name, "/"); !ok || prefix == "" {
			continue // an object of another kind
		}
		found++
		if !Known(name) {
			t.Errorf("action type %s is not known", name)
		}
	}
	if found < 60 {
		t.Errorf("the schema named %d action types, want at least 60", found)
	}
}

// wireTypes are the struct types that stand for an object on the wire: those of
// all actions, states, commands and notifications and everything below.
func wireTypes() map[reflect.Type]bool {
	found := map[reflect.Type]bool{}
	for _, info := range actions {
		walkType(reflect.TypeOf(info.new()), found)
	}
	for _, create := range newPart {
		walkType(reflect.TypeOf(create()), found)
	}
	for _, v := range []any{
		RootState{}, SessionState{}, ChatState{}, TerminalState{}, ChangesetState{}, AnnotationsState{}, ResourceWatchState{}, ClientServicesState{}, EmptyState{},
		ActionEnvelope{}, DispatchActionParams{}, InitializeParams{}, InitializeResult{}, ReconnectParams{}, ReconnectResult{}, ChannelCursor{},
		SubscribeParams{}, SubscribeResult{}, ChannelParams{}, ListSessionsParams{}, ListSessionsResult{}, CreateSessionParams{},
		CreateChatParams{}, FetchTurnsParams{}, CompletionsParams{}, ResolveSessionConfigParams{}, SessionAddedParams{},
		SessionRemovedParams{}, SessionSummaryChangedParams{}, ProgressParams{}, AnswerValue{}, SessionSummary{}, ChangesetOperationTarget{},
		ClientServicesInfo{}, RegisterServiceParams{}, RegisterServiceResult{}, UnregisterServiceParams{}, ClientServiceParams{}, RelayData{},
	} {
		walkType(reflect.TypeOf(v), found)
	}
	return found
}

func walkType(t reflect.Type, found map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		walkType(t.Elem(), found)
	case reflect.Struct:
		if at, isList := t.MethodByName("At"); isList {
			walkType(at.Type.Out(0), found)
			return
		}
		if found[t] || t.PkgPath() != reflect.TypeFor[Turn]().PkgPath() {
			return
		}
		found[t] = true
		walkFields(t, found)
	}
}

// walkFields looks through embedded structs, whose members are the outer's own.
func walkFields(t reflect.Type, found map[reflect.Type]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			walkFields(f.Type, found)
		case f.IsExported() && !f.Anonymous:
			walkType(f.Type, found)
		case f.Anonymous && f.Type.Kind() == reflect.Pointer:
			walkFields(f.Type.Elem(), found)
		}
	}
}

// notObjects have a wire form of their own, tested in TestUnions.
var notObjects = map[reflect.Type]bool{
	reflect.TypeFor[Text]():             true,
	reflect.TypeFor[ToolInput]():        true,
	reflect.TypeFor[StringOrMarkdown](): true,
	reflect.TypeFor[ResponsePart]():     true,
	reflect.TypeFor[AnyAction]():        true,
}

// TestUnknownMembersSurvive gives every object type a member it does not know.
func TestUnknownMembersSurvive(t *testing.T) {
	types := wireTypes()
	if len(types) < 150 {
		t.Fatalf("%d types found, want all of them", len(types))
	}
	const unknown = `"zzFuture":{"a":[1,null,"b"]}}`
	for typ := range types {
		if notObjects[typ] {
			continue
		}
		raw := `{` + unknown
		if typ == reflect.TypeFor[ActionEnvelope]() { // not legal without an action
			raw = `{"action":{"type":"session/ready"},` + unknown
		}
		out := again(t, jsontext.Value(raw), reflect.New(typ).Interface())
		got, _ := jsonrpc.Member(out, "zzFuture")
		if want := `{"a":[1,null,"b"]}`; string(got) != want {
			t.Errorf("%s lost a member it does not know: got %s, want %s. Either its Extra field is missing, or the build uses "+
				"GOEXPERIMENT=jsonv2, whose encoding/json/v2 ignores the option embed and loses members silently", typ, got, want)
		}
	}
}

// TestAbsentIsNotNull: an optional member that is absent, or null in the input
// of a lenient peer, is never written as null.
func TestAbsentIsNotNull(t *testing.T) {
	for typ := range wireTypes() {
		if notObjects[typ] || typ == reflect.TypeFor[ActionEnvelope]() { // not legal without an action
			continue
		}
		v := reflect.New(typ)
		if out := again(t, jsontext.Value(`{}`), v.Interface()); bytes.Contains(out, []byte("null")) && !rawRequired[typ] {
			t.Errorf("%s without members is written as %s", typ, out)
		}
	}
	for _, c := range []struct {
		into any
		in   string
	}{
		{new(ActionEnvelope), `{"channel":"c","action":{"type":"session/ready"},"serverSeq":1,"origin":null,"rejectionReason":null}`},
		{new(SessionChanges), `{"title":null,"status":null,"workingDirectories":null,"project":null}`},
		{new(Customization), `{"type":"plugin","id":"p","uri":"","name":"","children":null,"load":null,"icons":null}`},
		{new(TerminalPart), `{"type":"command","output":null,"exitCode":null}`},
	} {
		if out := again(t, jsontext.Value(c.in), c.into); bytes.Contains(out, []byte("null")) {
			t.Errorf("%s is written as %s", c.in, out)
		}
	}
}

// rawRequired have a required member of any JSON, which cannot be made up.
var rawRequired = map[reflect.Type]bool{
	reflect.TypeFor[Snapshot]():             true,
	reflect.TypeFor[DispatchActionParams](): true,
	reflect.TypeFor[AnswerValue]():          true,
}

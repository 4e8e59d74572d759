package ahp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// clientActions are the action types a client may dispatch, read from the
// tables of AHP channels, 2 and 3.
const clientActions = `
	root/configChanged
	session/titleChanged session/isReadChanged session/isArchivedChanged session/activeClientSet session/activeClientRemoved
	session/customizationToggled session/mcpServerStartRequested session/mcpServerStopRequested session/mcpServerBackgroundRequested
	session/configChanged session/workingDirectorySet session/workingDirectoryRemoved session/workingDirectoryReplaced
	chat/turnStarted chat/turnCancelled chat/turnResume chat/toolCallConfirmed chat/toolCallComplete chat/toolCallResultConfirmed
	chat/toolCallContentChanged chat/truncated chat/pendingMessageSet chat/pendingMessageRemoved chat/queuedMessagesReordered
	chat/draftChanged chat/inputAnswerChanged chat/inputCompleted chat/workingDirectorySet chat/workingDirectoryRemoved
	chat/isReadChanged chat/isArchivedChanged
	terminal/input terminal/resized terminal/claimed terminal/titleChanged terminal/cleared
	changeset/filesReviewChanged
	annotations/set annotations/updated annotations/removed annotations/entrySet annotations/entryRemoved`

func TestActionTable(t *testing.T) {
	fromClient := strings.Fields(clientActions)
	for _, name := range ActionTypes() {
		if got := actions[name].new().ActionType(); got != name {
			t.Errorf("the action %s calls itself %s", name, got)
		}
		if got, want := ClientMayDispatch(name), slices.Contains(fromClient, name); got != want {
			t.Errorf("ClientMayDispatch(%s) = %t, want %t", name, got, want)
		}
		if v, err := ParseVersion(Since(name)); err != nil || Current.Less(v) {
			t.Errorf("%s since %q", name, Since(name))
		}
		if !Known(name) {
			t.Errorf("%s is not known", name)
		}
		raw := jsontext.Value(`{"type":"` + name + `","zzFuture":{"a":1},"_meta":{"m":1}}`)
		a, err := DecodeAction(raw)
		if err != nil {
			t.Errorf("%s without members: %v", name, err)
			continue
		}
		if string(MetaOf(a)) != `{"m":1}` {
			t.Errorf("%s: meta %s", name, MetaOf(a))
		}
	}
	for _, name := range fromClient {
		if !Known(name) {
			t.Errorf("%s is missing", name)
		}
	}
	if Known("future/x") || ClientMayDispatch("future/x") || Since("future/x") != "" {
		t.Error("an unknown action type is known")
	}
	if MetaOf(&UnknownAction{}) != nil {
		t.Error("an unknown action has meta")
	}
}

func TestDecodeActionRefuses(t *testing.T) {
	for _, raw := range []string{`null`, `[]`, `"session/ready"`, `{}`, `{"type":7}`, `{"type":null}`,
		`{"type":"chat/delta","turnId":7}`, `{"type":"chat/responsePart","part":null}`, `{"type":"session/titleChanged","title":"a","title":"b"}`} {
		if a, err := DecodeAction(jsontext.Value(raw)); err == nil {
			t.Errorf("DecodeAction(%s) = %v, want an error", raw, a)
		}
	}
	if _, err := Marshal(AnyAction{}); err == nil {
		t.Error("no action was encoded")
	}
}

// TestDecodeActionCopies: an action outlives the buffer it was read from.
func TestDecodeActionCopies(t *testing.T) {
	for _, text := range []string{
		`{"type":"chat/delta","turnId":"t","partId":"p","content":"c","_meta":{"m":1},"zz":2}`,
		`{"type":"future/x","a":1}`,
		`{"type":"chat/responsePart","turnId":"t","part":{"kind":"future","x":1}}`,
	} {
		buf := jsontext.Value(text)
		a, err := DecodeAction(buf)
		if err != nil {
			t.Fatal(err)
		}
		for i := range buf {
			buf[i] = 'X'
		}
		got, err := EncodeAction(a)
		if err != nil {
			t.Fatal(err)
		}
		equalJSON(t, jsontext.Value(text), got)
	}
}

func TestEnvelope(t *testing.T) {
	const action = `{"type":"future/x","a":{"b":1}}`
	for _, c := range []struct {
		members           string
		origin            Origin
		hasOrigin, reject bool
	}{
		{``, Origin{}, false, false},
		{`,"origin":null,"rejectionReason":null`, Origin{}, false, false},
		{`,"origin":{"clientId":"c","clientSeq":3},"zz":1`, Origin{ClientID: "c", ClientSeq: 3}, true, false},
		{`,"origin":{"clientSeq":3,"clientId":"c"},"rejectionReason":"busy"`, Origin{ClientID: "c", ClientSeq: 3}, true, true},
	} {
		raw := jsontext.Value(`{"channel":"ahp-chat:/c","serverSeq":4294967296,"action":` + action + c.members + `}`)
		h, err := ScanEnvelope(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if string(h.Channel) != "ahp-chat:/c" || h.ServerSeq != 1<<32 || string(h.Action) != action || h.Rejected != c.reject {
			t.Errorf("%s: head %+v", raw, h)
		}
		if h.HasOrigin != c.hasOrigin || h.Origin.ClientID != c.origin.ClientID || h.Origin.ClientSeq != c.origin.ClientSeq {
			t.Errorf("%s: origin %+v, %t", raw, h.Origin, h.HasOrigin)
		}
		var e ActionEnvelope
		if err := Unmarshal(raw, &e); err != nil || (e.Origin != nil) != c.hasOrigin || (e.RejectionReason != nil) != c.reject {
			t.Errorf("%s: envelope %+v, %v", raw, e, err)
		}
	}
	for _, raw := range []string{`{}`, `[]`, `null`, `{"channel":"c","serverSeq":1}`, `{"channel":"c","serverSeq":-1,"action":{}}`,
		`{"channel":"c","serverSeq":1.5,"action":{}}`, `{"channel":"","serverSeq":1,"action":{}}`, `{"channel":"c","serverSeq":1,"action":[]}`} {
		if h, err := ScanEnvelope(jsontext.Value(raw)); err == nil {
			t.Errorf("ScanEnvelope(%s) = %+v, want an error", raw, h)
		}
	}
}

func TestBelongsTo(t *testing.T) {
	if !BelongsTo("chat/delta", KindChat) || BelongsTo("chat/delta", KindSession) || BelongsTo("chatty/delta", KindChat) {
		t.Error("an action type belongs to the kind that its prefix names")
	}
}

// FuzzDecodeAction: what decodes can be encoded, and decodes to the same again.
func FuzzDecodeAction(f *testing.F) {
	for name := range actions {
		f.Add([]byte(`{"type":"` + name + `","zzFuture":[null]}`))
	}
	for _, u := range unions {
		for _, part := range u.known {
			f.Add([]byte(`{"type":"chat/responsePart","turnId":"t","part":` + part + `}`))
		}
	}
	for _, raw := range outsideActions(f) {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !jsontext.Value(raw).IsValid(jsontext.AllowInvalidUTF8(true)) {
			return // DecodeAction is given members of messages that were scanned
		}
		a, err := DecodeAction(raw)
		if err != nil {
			return
		}
		once, err := EncodeAction(a)
		if err != nil {
			t.Fatalf("encode %s: %v", raw, err)
		}
		b, err := DecodeAction(once)
		if err != nil {
			t.Fatalf("decode %s: %v", once, err)
		}
		twice, err := EncodeAction(b)
		if err != nil {
			t.Fatalf("encode %s: %v", once, err)
		}
		if a.ActionType() != b.ActionType() {
			t.Fatalf("%s became %s", a.ActionType(), b.ActionType())
		}
		if d := cmp.Diff(anyJSON(t, once), anyJSON(t, twice)); d != "" {
			t.Fatalf("%s changed on the way:\n%s", raw, d)
		}
	})
}

// outsideActions are the actions of the outside fixtures, none without them.
func outsideActions(f *testing.F) (all []jsontext.Value) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(outsideDir(), "fixtures", "reducers*", "*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var c struct {
			Actions []jsontext.Value `json:"actions"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			f.Fatalf("%s: %v", file, err)
		}
		all = append(all, c.Actions...)
	}
	return all
}

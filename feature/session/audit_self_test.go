package session

import (
	"testing"

	"github.com/causeway-ahp/causeway/journal"
	"github.com/go-json-experiment/json/jsontext"
)

// The audit finds each of the faults it is there for, or it would prove nothing.
func TestAuditFindsFaults(t *testing.T) {
	const chat = "ahp-chat:/c"
	turn := func(id string) string {
		return `{"type":"chat/turnStarted","turnId":"` + id + `","startedAt":"2026-01-01T00:00:00.000Z","message":` + message("x") + `}`
	}
	for _, tc := range []struct {
		name    string
		actions []string
		faults  int
	}{
		{"right", []string{turn("1"), `{"type":"chat/turnComplete","turnId":"1","duration":1}`}, 0},
		{"no effect", []string{`{"type":"chat/isReadChanged","isRead":false}`}, 1},
		{"same value", []string{`{"type":"chat/activityChanged","activity":"x"}`, `{"type":"chat/activityChanged","activity":"x"}`}, 1},
		{"erased", []string{turn("1"), turn("2")}, 1},
		{"late", []string{turn("1"), cancelTurn("1"), `{"type":"chat/toolCallStart","turnId":"1","toolCallId":"c","toolName":"n","displayName":"n"}`}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newAudit()
			records := []*journal.Record{{Kind: journal.Created, Channel: chat, Body: jsontext.Value(
				`{"resource":"ahp-chat:/c","title":"t","status":1,"modifiedAt":"2026-01-01T00:00:00.000Z","turns":[]}`)}}
			for i, action := range tc.actions {
				records = append(records, &journal.Record{Kind: journal.Action, Channel: chat, Seq: uint64(i) + 1, Body: jsontext.Value(action)})
			}
			if err := a.Write(records); err != nil {
				t.Fatal(err)
			}
			if len(a.faults) != tc.faults {
				t.Errorf("faults %q, want %d", a.faults, tc.faults)
			}
		})
	}
}

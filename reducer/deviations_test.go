package reducer

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// deviation is how the expectation of an outside fixture changes under the
// rules reduced here. Every other member of the expectation still counts.
type deviation struct {
	why string
	set map[string]any // by path; nil removes the member
}

const (
	whyClock     = "0.6 stamped modifiedAt from the reducer's own clock; since 0.9 a reducer has none (AHP channels, 4.8)"
	whyErrorPart = "since 0.9 an error is a part that chat/error carries; this old action has none, and Turn.error is gone"
	whyFailed    = "since 0.9 the lifecycle is called failed"
	whyLifecycle = "since 0.9 lifecycle takes the place of exitCode"
	whyNoError   = "since 0.9 changeset/contentChanged has no error, so the state's error stays"
)

// deviations are all the outside fixtures that contradict the newest rules.
// Fixtures the same change could have broken but does not, because both forms
// are understood, need no entry: the older forms of session/customizationToggled
// (060, 225), of annotations (210 to 219) and of the working directory.
var deviations = map[string]deviation{
	"005-session-turnstarted": modifiedAt("00:00:01.000"),
	"006-turnstarted-with-queuedmessageid-removes-from-queuedmessages":        modifiedAt("00:00:01.000"),
	"007-turnstarted-with-queuedmessageid-removes-last-queued-message":        modifiedAt("00:00:01.000"),
	"008-turnstarted-with-queuedmessageid-removes-matching-steering-message":  modifiedAt("00:00:01.000"),
	"009-turnstarted-without-queuedmessageid-does-not-touch-pending-messages": modifiedAt("00:00:01.000"),
	"063-session-truncated-keeps-turns-up-to-turnid":                          modifiedAt("00:00:01.000"),
	"064-session-truncated-keeps-all-when-turnid-is-last":                     modifiedAt("00:00:01.000"),
	"065-session-truncated-keeps-only-first-when-turnid-is-first":             modifiedAt("00:00:01.000"),
	"066-session-truncated-clears-all-when-turnid-omitted":                    modifiedAt("00:00:01.000"),
	"067-session-truncated-drops-active-turn":                                 modifiedAt("00:00:02.000"),
	"068-session-truncated-drops-active-turn-even-when-clearing-all":          modifiedAt("00:00:02.000"),
	"075-turnstarted-clears-isread":                                           modifiedAt("00:00:01.000"),
	"105-session-input-full-draft-and-complete-flow":                          modifiedAt("00:00:01.000"),
	"106-session-input-requested-with-drafts-status":                          modifiedAt("00:00:02.000"),
	"108-session-input-upsert-and-clear-answer":                               modifiedAt("00:00:02.000"),
	"110-session-input-completion-and-truncation-filtering":                   modifiedAt("00:00:02.000"),
	"234-chat-truncated-clears-turns-next-cursor-when-clearing-all":           modifiedAt("00:00:01.000"),
	"235-session-input-completion-records-declined-request-in-turn":           modifiedAt("00:00:01.000"),
	"240-turn-duration-is-clamped-to-zero":                                    modifiedAt("00:00:10.000"),
	"250-turncomplete-force-cancels-auth-required-tool-call":                  modifiedAt("00:00:01.500"),
	"016-session-error-finalizes-turn-with-error":                             {whyErrorPart, map[string]any{"turns/0/error": nil}},
	"004-session-creationfailed":                                              {whyFailed, map[string]any{"lifecycle": "failed"}},
	"081-terminal-exited":                                                     exited(0),
	"083-terminal-full-lifecycle":                                             exited(0),
	"159-changeset-contentchanged-updates-error":                              {whyNoError, map[string]any{"error/message": "old error"}},
}

func modifiedAt(clock string) deviation {
	return deviation{whyClock, map[string]any{"modifiedAt": "1970-01-01T" + clock + "Z"}}
}

func exited(code float64) deviation {
	return deviation{whyLifecycle, map[string]any{
		"exitCode":  nil,
		"lifecycle": map[string]any{"status": "exited", "exitCode": code},
	}}
}

// correct returns the expectation with the deviation. One that changes nothing
// is stale and fails.
func (d deviation) correct(t *testing.T, want any) any {
	t.Helper()
	t.Logf("%s: %v", d.why, slices.Sorted(maps.Keys(d.set)))
	for path, v := range d.set {
		setMember(t, want, strings.Split(path, "/"), v)
	}
	return want
}

// setMember sets or removes the member at a path of names and indexes.
func setMember(t *testing.T, at any, path []string, v any) {
	t.Helper()
	for ; len(path) > 1; path = path[1:] {
		switch in := at.(type) {
		case map[string]any:
			at = in[path[0]]
		case []any:
			i, err := strconv.Atoi(path[0])
			if err != nil || i >= len(in) {
				t.Fatalf("no element %s", path[0])
			}
			at = in[i]
		}
	}
	object, ok := at.(map[string]any)
	if !ok {
		t.Fatalf("no object holds %s", path[0])
	}
	if v == nil {
		delete(object, path[0])
	} else {
		object[path[0]] = v
	}
}

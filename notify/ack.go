package notify

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Ack is what is acknowledged: the params of notifications/config/acknowledged
// (notifications, 4.4).
type Ack struct {
	RequestID jsontext.Value   `json:"requestId,omitzero"` // as the request wrote it: text or number
	Accepted  []string         `json:"acceptedRoutes"`
	CallID    string           `json:"callId,omitempty"`
	Rejected  []RejectedRoute  `json:"rejectedRoutes,omitempty"`
	Ignored   []IgnoredTrigger `json:"ignoredTriggers,omitempty"`
}

// Params encodes the acknowledgement.
func (a Ack) Params() jsontext.Value { return mustJSON(a) }

// Missed is a trigger that had no route, as a result reports it (notifications,
// 6.4).
type Missed struct {
	Trigger Trigger `json:"trigger"`
	Code    string  `json:"code"` // "no_route"
	Count   int64   `json:"count,omitzero"`
}

// Report is what the engine did about a call.
type Report struct {
	Ack
	Trigger       Trigger  `json:"trigger"` // the terminal one
	Notifications []string `json:"notificationIds,omitempty"`
	Errors        []Missed `json:"errors,omitempty"`
	// Late: another terminal trigger was there first, and Trigger names it. The
	// outcome that came late is kept beside it and fired nothing.
	Late bool `json:"-"`
}

// Meta is the member a final result carries under
// _meta["io.github.causeway-ahp/notification-config"].
func (r Report) Meta() jsontext.Value { return mustJSON(r) }

// Summary of a call for people and for callers that ask later.
type Summary struct {
	CallID    string         `json:"callId"`
	RequestID jsontext.Value `json:"requestId,omitzero"`
	Tool      string         `json:"tool"`
	Server    string         `json:"server,omitempty"`
	State     string         `json:"state"` // running, ended, superseded, filtered
	Trigger   Trigger        `json:"trigger,omitempty"`
	StartedAt time.Time      `json:"startedAt"`
	EndedAt   time.Time      `json:"endedAt,omitzero"`
	Result    jsontext.Value `json:"result,omitempty"`     // after masking
	Late      jsontext.Value `json:"lateResult,omitempty"` // what came after the terminal trigger
}

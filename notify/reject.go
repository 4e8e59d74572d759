package notify

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Codes of a refused configuration, as they go on the wire.
const (
	CodeInvalidParams      = -32602
	CodeMissingCapability  = -32021
	capabilityNotification = "notificationConfig"
)

// Reasons why a whole configuration is refused (notifications, A-3).
const (
	ReasonInvalid         = "invalid_config"     // its shape: sizes, ids, empty lists, options
	ReasonUnsupportedType = "unsupported_type"   // one of its route types is not served
	ReasonNoRoute         = "no_accepted_route"  // every route was refused for a reason of its own
	ReasonQuota           = "quota"              // the principal has too much in progress
	ReasonNoStream        = "no_stream"          // nothing could carry the acknowledgement; edges only
	ReasonNoCapability    = "missing_capability" // the client did not declare the capability it must
	ReasonIdempotencyKey  = "idempotency_key"    // the key was used for another call
)

// Reasons why one route is refused (notifications, 4.4). Nothing else about an
// endpoint is ever told.
const (
	RouteInvalidEndpoint = "invalid_endpoint"
	RouteNotAllowed      = "endpoint_not_allowed"
	RouteDisabled        = "endpoint_disabled"
	RouteUnknownSecret   = "unknown_secret"
	RouteNoKnownTrigger  = "no_known_trigger"
	RouteNoTarget        = "no_target"
	RouteQuota           = "quota"
)

// RejectedRoute is a route that was left out, and why.
type RejectedRoute struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// IgnoredTrigger is a trigger name that nobody here knows.
type IgnoredTrigger struct {
	ID      string `json:"id"` // of the route
	Trigger string `json:"trigger"`
}

// ConfigError refuses a configuration. The tool has not run. Code and Data are
// what the edge answers with.
type ConfigError struct {
	Code        int
	Reason      string
	Text        string   // for people: what is wrong and what would be right
	Unsupported []string // route types that are not served
	Supported   []string // those that are
	Rejected    []RejectedRoute
}

// Error implements error.
func (e *ConfigError) Error() string {
	text := "notificationConfig: " + e.Text
	if len(e.Unsupported) > 0 {
		text += " (supported: " + strings.Join(e.Supported, ", ") + ")"
	}
	return text
}

// Data is the error's data member (notifications, A-1 and A-3).
func (e *ConfigError) Data() jsontext.Value {
	type data struct {
		Reason      string          `json:"reason"`
		Unsupported []string        `json:"unsupportedRouteTypes,omitempty"`
		Supported   []string        `json:"supportedRouteTypes"`
		Rejected    []RejectedRoute `json:"rejectedRoutes,omitempty"`
		Required    map[string]any  `json:"requiredCapabilities,omitempty"`
	}
	d := data{Reason: e.Reason, Unsupported: e.Unsupported, Supported: e.Supported, Rejected: e.Rejected}
	if e.Code == CodeMissingCapability {
		d.Required = map[string]any{capabilityNotification: struct{}{}}
	}
	return mustJSON(d)
}

func invalid(format string, args ...any) *ConfigError {
	return &ConfigError{Code: CodeInvalidParams, Reason: ReasonInvalid, Text: fmt.Sprintf(format, args...)}
}

// mustJSON encodes one of our own types, which cannot fail.
func mustJSON(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), nanos)
	if err != nil {
		panic(fmt.Sprintf("notify: encode %T: %v", v, err))
	}
	return raw
}

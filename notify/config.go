package notify

import (
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a configuration (notifications, 4.3).
const (
	MaxConfigBytes = 16 << 10
	MaxRoutes      = 8
)

// Level says how much of an outcome a body tells (notifications, 10.3).
type Level string

// Levels, from the one that tells most.
const (
	PayloadFull Level = "full" // the result, after masking
	PayloadThin Level = "thin" // ids, trigger, times, error category
	PayloadNone Level = "none" // only what the payload's schema requires
)

// Config is what a caller asks for: routes in order of preference.
type Config struct {
	Routes  []Route
	Options CallOptions
}

// CallOptions are the options of a configuration as a whole.
type CallOptions struct {
	Timeout        time.Duration // 0: none asked for
	CancelOnLeave  bool          // onDisconnect is "cancel": a client that leaves cancels its call
	MinInterval    time.Duration // between two streaming deliveries; 0: one second
	IdempotencyKey string
}

// Route is one destination. It is a value: its slices are not changed.
type Route struct {
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	Endpoint string    `json:"endpoint"`
	Triggers []Trigger `json:"triggers"` // the known ones

	SecretRef     string        `json:"secretRef,omitempty"` // signs; "": the endpoint's own key
	Headers       []Header      `json:"headers,omitempty"`
	Payload       Level         `json:"payload,omitempty"` // "": the type's default
	InOrder       bool          `json:"inOrder,omitempty"` // deliveries of one call wait for each other
	FailoverAfter time.Duration `json:"failoverAfter,omitempty"`

	// Set at admission.
	Target string `json:"target,omitempty"` // what limits and breaker are kept for: scheme://host:port
	Grant  string `json:"grant,omitempty"`  // the operator's rule that allowed the endpoint, "" for none

	ignored []string          // trigger names nobody knows
	inline  map[string]Secret // secrets as sent, by header name, "" for signing
}

// Header is a request header whose value is kept by reference.
type Header struct {
	Name      string `json:"name"`
	SecretRef string `json:"secretRef"`
}

// Lists reports whether the route is meant for the trigger.
func (r *Route) Lists(t Trigger) bool { return slices.Contains(r.Triggers, t) }

// Inline returns the secrets that came with the route itself, by header name,
// with "" for the one that signs. Admit moves them to the secret store.
func (r *Route) Inline() map[string]Secret { return r.inline }

// wireConfig is notificationConfig as sent (notifications, 4.2). Members that
// nobody here knows are ignored.
type wireConfig struct {
	Routes  []wireRoute `json:"routes"`
	Options struct {
		TimeoutMs      *float64 `json:"timeoutMs"`
		OnDisconnect   string   `json:"onDisconnect"`
		IdempotencyKey string   `json:"idempotencyKey"`
		Streaming      struct {
			MinIntervalMs *float64 `json:"minIntervalMs"`
		} `json:"streaming"`
	} `json:"options"`
}

type wireRoute struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Endpoint string   `json:"endpoint"`
	Triggers []string `json:"triggers"`
	Options  struct {
		Signing         *wireSecret           `json:"signing"`
		Headers         map[string]wireSecret `json:"headers"`
		Payload         Level                 `json:"payload"`
		Ordering        string                `json:"ordering"`
		FailoverAfterMs *float64              `json:"failoverAfterMs"`
	} `json:"options"`
}

// wireSecret is {"secretRef": …}, {"secret": …}, or the secret itself as text.
type wireSecret struct {
	Ref    string
	Secret Secret
}

func (w *wireSecret) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &w.Secret)
	}
	var object struct {
		Ref    string `json:"secretRef"`
		Secret Secret `json:"secret"`
	}
	if err := json.UnmarshalDecode(dec, &object); err != nil {
		return err
	}
	w.Ref, w.Secret = object.Ref, object.Secret
	return nil
}

var (
	routeID   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	secretRef = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// ParseConfig reads a configuration and checks its shape (notifications, 4.3
// step 1). A refusal is a *ConfigError.
func ParseConfig(raw []byte) (*Config, error) {
	if len(raw) > MaxConfigBytes {
		return nil, invalid("%d bytes are more than the %d allowed", len(raw), MaxConfigBytes)
	}
	var w wireConfig
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, invalid("it is not an object with routes of id, type, endpoint and triggers")
	}
	switch n := len(w.Routes); {
	case n == 0:
		return nil, invalid("routes is missing or empty; name at least one")
	case n > MaxRoutes:
		return nil, invalid("%d routes are more than the %d allowed", n, MaxRoutes)
	}
	c := &Config{}
	if err := c.options(&w); err != nil {
		return nil, err
	}
	for i := range w.Routes {
		r, err := parseRoute(&w.Routes[i])
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(c.Routes, func(o Route) bool { return o.ID == r.ID }) {
			return nil, invalid("two routes have the id %q", r.ID)
		}
		c.Routes = append(c.Routes, r)
	}
	return c, nil
}

func (c *Config) options(w *wireConfig) error {
	o := &w.Options
	var bad bool
	c.Options.Timeout, bad = millis(o.TimeoutMs, 1)
	if bad {
		return invalid("options.timeoutMs must be a positive number of milliseconds")
	}
	if c.Options.MinInterval, bad = millis(o.Streaming.MinIntervalMs, 0); bad {
		return invalid("options.streaming.minIntervalMs must be a number of milliseconds")
	}
	if len(o.IdempotencyKey) > 256 {
		return invalid("options.idempotencyKey is longer than 256 bytes")
	}
	c.Options.IdempotencyKey = o.IdempotencyKey
	switch o.OnDisconnect {
	case "", "detach":
	case "cancel":
		c.Options.CancelOnLeave = true
	default:
		return invalid(`options.onDisconnect must be "detach" or "cancel"`)
	}
	return nil
}

// millis reads an optional duration, at most 30 days.
func millis(v *float64, least float64) (d time.Duration, bad bool) {
	if v == nil {
		return 0, false
	}
	const most = 30 * 24 * 3600 * 1000
	if !(*v >= least) {
		return 0, true
	}
	return time.Duration(min(*v, most) * float64(time.Millisecond)), false
}

func parseRoute(w *wireRoute) (Route, error) {
	r := Route{ID: w.ID, Type: w.Type, Endpoint: w.Endpoint, Payload: w.Options.Payload}
	switch {
	case !routeID.MatchString(w.ID):
		return r, invalid("a route's id must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
	case w.Type == "":
		return r, invalid("route %s has no type", w.ID)
	case len(w.Triggers) == 0:
		return r, invalid("route %s lists no triggers", w.ID)
	}
	for _, name := range w.Triggers {
		switch t := Trigger(name); {
		case !t.Known():
			r.ignored = append(r.ignored, name)
		case !r.Lists(t):
			r.Triggers = append(r.Triggers, t)
		}
	}
	return r, r.options(w)
}

func (r *Route) options(w *wireRoute) error {
	o := &w.Options
	switch r.Payload {
	case "", PayloadFull, PayloadThin, PayloadNone:
	default:
		return invalid(`route %s: options.payload must be "full", "thin" or "none"`, r.ID)
	}
	switch o.Ordering {
	case "", "none":
	case "call":
		r.InOrder = true
	default:
		return invalid(`route %s: options.ordering must be "none" or "call"`, r.ID)
	}
	var bad bool
	if r.FailoverAfter, bad = millis(o.FailoverAfterMs, 1); bad {
		return invalid("route %s: options.failoverAfterMs must be a positive number of milliseconds", r.ID)
	}
	return r.secrets(w)
}

// secrets keeps references as they are and puts what came inline aside.
func (r *Route) secrets(w *wireRoute) error {
	r.inline = make(map[string]Secret)
	if s := w.Options.Signing; s != nil {
		if err := r.secret("", s); err != nil {
			return err
		}
		r.SecretRef = s.Ref
	}
	names := make([]string, 0, len(w.Options.Headers))
	for name := range w.Options.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := w.Options.Headers[name]
		if err := r.secret(name, &s); err != nil {
			return err
		}
		r.Headers = append(r.Headers, Header{Name: name, SecretRef: s.Ref})
	}
	return nil
}

func (r *Route) secret(name string, s *wireSecret) error {
	switch {
	case (s.Ref == "") == s.Secret.IsZero():
		return invalid(`route %s: give either "secretRef" or "secret"`, r.ID)
	case s.Ref != "" && !secretRef.MatchString(s.Ref):
		return invalid("route %s: a secretRef must be 1 to 64 characters of A-Z a-z 0-9 . _ -", r.ID)
	case s.Ref == "":
		r.inline[name] = s.Secret
	}
	return nil
}

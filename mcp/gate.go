package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json/jsontext"
)

// Options say whose calls an edge takes and what it promises. Engine is needed.
type Options struct {
	Engine *notify.Engine
	// Principal is who calls; "" means the user of this machine.
	Principal string
	// Server names the server in notifications, for receivers of several.
	Server string
	// Timeout is the longest a call with notifications may run; 0: the engine's own
	// limit, a day.
	Timeout time.Duration
	// Log takes what nobody is told. It never holds a payload; nil: nothing is logged.
	Log *slog.Logger
}

// local is the principal of the user whose process this is: the parent of a stdio
// gateway, and whoever reaches a loopback address (tool-call notifications, 10.1).
const local = "local"

// gate is the way from an edge to the engine.
type gate struct {
	Options
	capabilities []patch
}

// patch is a member to be set in the capabilities.
type patch struct {
	path  []string
	value jsontext.Value
}

func newGate(o Options) *gate {
	o.Principal = cmp.Or(o.Principal, local)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &gate{Options: o}
	types := marshal(o.Engine.Types(o.Principal, nil))
	plain := raw(`{"supportedRouteTypes":` + string(types) + `}`)
	g.capabilities = []patch{
		{[]string{configMember}, plain},
		{[]string{"extensions", extension}, marshal(extensionCapability{
			Types: o.Engine.Types(o.Principal, nil), Triggers: notify.SupportedTriggers(), Profile: 1,
			Limits: capabilityLimits{
				Routes: notify.MaxRoutes, TimeoutMs: advertisedTimeout(o).Milliseconds(), PayloadBytes: maxPayloadBytes,
			},
		})},
		{[]string{"experimental", configMember}, plain},
	}
	return g
}

const (
	defaultTimeout  = 24 * time.Hour // of the engine, where nothing else is said
	maxPayloadBytes = 256 << 10      // of a webhook's body
)

func advertisedTimeout(o Options) time.Duration {
	if o.Timeout > 0 {
		return min(o.Timeout, defaultTimeout)
	}
	return defaultTimeout
}

type extensionCapability struct {
	Types    []string         `json:"supportedRouteTypes"`
	Triggers []notify.Trigger `json:"supportedTriggers"`
	Profile  int              `json:"profile"`
	Limits   capabilityLimits `json:"limits"`
}

type capabilityLimits struct {
	Routes       int   `json:"routes"`
	TimeoutMs    int64 `json:"timeoutMs"`
	PayloadBytes int   `json:"payloadBytes"`
}

// advertise adds the capability, in the three places where clients look for it, to
// the result of a greeting (tool-call notifications, 4.1).
func (g *gate) advertise(result jsontext.Value) jsontext.Value {
	capabilities := memberAt(result, "capabilities")
	for _, p := range g.capabilities {
		capabilities = withMemberAt(capabilities, p.value, p.path...)
	}
	return withMember(result, "capabilities", capabilities)
}

// admit takes a call in: its shape, the tool, the engine's own checks and its record,
// in the order that makes a refusal cheap (tool-call notifications, 4.3). It returns a ticket, or the
// response that refuses the call. The error is one of ask that is for the client to see.
func (g *gate) admit(ctx context.Context, c *toolCall, ask ask, caller notify.Caller) (t *ticket, refusal []byte, err error) {
	if c.task {
		return nil, errorMessage(c.id, g.configError(&notify.ConfigError{
			Code: notify.CodeInvalidParams, Reason: reasonTask,
			Text: "a call with notifications cannot be a task; leave out the parameter task",
		})), nil
	}
	config, err := g.Engine.Check(c.config, caller)
	if err != nil {
		return nil, g.refuse(c, err), nil
	}
	refusal, err = checkTool(ctx, c, ask)
	if refusal != nil || err != nil {
		return nil, refusal, err
	}
	call, err := g.Engine.Admit(ctx, config, notify.Request{
		Caller: caller, RequestID: raw(c.id.String()), Tool: c.name, Server: g.Server, Arguments: c.arguments,
		Trace: c.traceparent(), Timeout: g.Timeout,
	})
	if err != nil {
		return nil, g.refuse(c, err), nil
	}
	if slices.ContainsFunc(config.Routes, func(r notify.Route) bool { return r.Lists(notify.Streaming) }) {
		c.wantProgress()
	}
	return &ticket{gate: g, toolCall: c, call: call, cancelOnLeave: config.Options.CancelOnLeave}, nil, nil
}

// reasonTask says that a call wants to be a task and notified of.
const reasonTask = "task_unsupported"

// refuse is the response to a call that the engine does not take. The tool has not
// run.
func (g *gate) refuse(c *toolCall, err error) []byte {
	var bad *notify.ConfigError
	var dup *notify.DuplicateError
	switch {
	case errors.As(err, &bad):
		return errorMessage(c.id, g.configError(bad))
	case errors.As(err, &dup):
		return jsonrpc.AppendResult(nil, c.id, duplicateResult(dup.Call))
	}
	g.Log.Error("a call with notifications was refused", "tool", c.name, "err", err)
	return errorMessage(c.id, errCannotPromise)
}

var errCannotPromise = jsonrpc.Errorf(jsonrpc.CodeInternal,
	"notifications cannot be promised now; try again later, or call without %s", configMember)

// configError is a refusal as it crosses the wire.
func (g *gate) configError(e *notify.ConfigError) *jsonrpc.Error {
	if e.Supported == nil {
		e.Supported = g.Engine.Types(g.Principal, nil)
	}
	return jsonrpc.Errorf(int64(e.Code), "%s", e.Error()).WithData(e.Data())
}

// noStream refuses a call whose acknowledgement nothing could carry (tool-call notifications, A-5).
func (g *gate) noStream() *jsonrpc.Error {
	return g.configError(&notify.ConfigError{
		Code: notify.CodeInvalidParams, Reason: notify.ReasonNoStream,
		Text: "the acknowledgement needs a stream: accept text/event-stream",
	})
}

// duplicateResult answers a call that was made before under the same key.
func duplicateResult(s notify.Summary) jsontext.Value {
	meta := withMember(raw(`{"duplicate":true}`), "callId", quote(s.CallID))
	result := s.Result
	if result == nil {
		text := "This call was made before and is " + s.State + " as " + s.CallID + "."
		result = raw(`{"content":[{"type":"text","text":` + string(quote(text)) + `}]}`)
	}
	return withMemberAt(result, meta, "_meta", extension)
}

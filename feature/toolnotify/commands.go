package toolnotify

import (
	"context"
	"errors"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json/jsontext"
)

// ConfigureParams are the params of x-toolNotifications/configure (tool-call
// notifications, 12.2).
type ConfigureParams struct {
	Channel ahp.URI        `json:"channel"` // a session or a chat
	Config  jsontext.Value `json:"notificationConfig"`
	Filter  *Filter        `json:"filter,omitzero"`
	TTLMs   *float64       `json:"ttlMs,omitzero"` // default a day, at most 30
	// Trusted says that the endpoints are the user's own choice, which counts as an
	// operator's permission. Only the user who runs the host may say so.
	Trusted bool `json:"trusted,omitzero"`
}

// Filter narrows a configuration to some tool calls. Empty members do not narrow.
type Filter struct {
	Tools         []string `json:"tools,omitzero"`        // patterns, such as build.*
	Contributors  []string `json:"contributors,omitzero"` // mcp, client, server
	MinDurationMs *float64 `json:"minDurationMs,omitzero"`
}

// ConfigureResult is the result of x-toolNotifications/configure: the acknowledgement.
type ConfigureResult struct {
	ConfigID        string                  `json:"configId"`
	AcceptedRoutes  []string                `json:"acceptedRoutes"`
	RejectedRoutes  []notify.RejectedRoute  `json:"rejectedRoutes"`
	IgnoredTriggers []notify.IgnoredTrigger `json:"ignoredTriggers"`
	ExpiresAt       string                  `json:"expiresAt"` // RFC 3339
}

// RemoveParams are the params of x-toolNotifications/remove.
type RemoveParams struct {
	Channel  ahp.URI `json:"channel"`
	ConfigID string  `json:"configId"`
}

// ResultParams are the params of x-toolNotifications/result.
type ResultParams struct {
	Channel ahp.URI `json:"channel"`
	CallID  string  `json:"callId"`
}

// capabilities answers on the root channel what the feature offers the caller.
func (f *Feature) capabilities(_ context.Context, r *host.Request) jsonrpc.Reply {
	return jsonrpc.Reply{Result: f.capability(string(r.Conn.Principal()))}
}

// configure installs routes for the tool calls of a session or a chat.
func (f *Feature) configure(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ConfigureParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	if err := f.mayConfigure(r, &p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	request, err := f.installRequest(r, &p)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	config, err := f.engine.Check(p.Config, request.Caller)
	if err != nil {
		return jsonrpc.Reply{Err: wireError(err)}
	}
	request.Source, request.Position = f.source, int64(f.h.Seq())
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		in, err := f.engine.Install(ctx, config, request)
		if err != nil {
			return nil, wireError(err)
		}
		return ConfigureResult{
			ConfigID: in.ID, AcceptedRoutes: in.Accepted, ExpiresAt: in.ExpiresAt.UTC().Format(time.RFC3339),
			RejectedRoutes: orEmpty(in.Rejected), IgnoredTriggers: orEmpty(in.Ignored),
		}, nil
	}}
}

// orEmpty makes a list that is there in JSON also when it is empty.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// mayConfigure refuses who may not see the channel, as if it did not exist (AHP core,
// 17, 6), and who calls the endpoints trusted without being the host's own user.
func (f *Feature) mayConfigure(r *host.Request, p *ConfigureParams) error {
	kind := ahp.KindOf(r.Channel)
	switch {
	case kind != ahp.KindSession && kind != ahp.KindChat:
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s: channel must be a session or a chat", r.Method)
	case !f.h.Exists(r.Channel) || !f.h.Allows(r.Conn.Principal(), host.OpSee, r.Channel):
		return ahp.ErrNotFound
	case p.Trusted && r.Conn.Principal() != host.Local:
		return ahp.ErrPermissionDenied
	}
	return nil
}

func (f *Feature) installRequest(r *host.Request, p *ConfigureParams) (notify.InstallRequest, error) {
	in := notify.InstallRequest{Scope: r.Channel, Caller: notify.Caller{
		Principal: string(r.Conn.Principal()), Client: r.Conn.ClientID(), Trusted: p.Trusted,
	}}
	var bad bool
	if in.TTL, bad = millis(p.TTLMs); bad {
		return in, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s: ttlMs must be a positive number of milliseconds", r.Method)
	}
	if p.Filter != nil {
		in.Filter = notify.Filter{Tools: p.Filter.Tools, Contributors: p.Filter.Contributors}
		if in.Filter.MinDuration, bad = millis(p.Filter.MinDurationMs); bad {
			return in, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s: filter.minDurationMs must be a positive number of milliseconds", r.Method)
		}
	}
	return in, nil
}

// millis reads an optional duration, of at most maxTTL.
func millis(v *float64) (d time.Duration, bad bool) {
	if v == nil {
		return 0, false
	}
	if !(*v > 0) {
		return 0, true
	}
	return time.Duration(min(*v, float64(maxTTL.Milliseconds())) * float64(time.Millisecond)), false
}

// remove takes a configuration back.
func (f *Feature) remove(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p RemoveParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	principal := string(r.Conn.Principal())
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		if err := f.engine.Remove(ctx, principal, p.ConfigID); err != nil {
			return nil, wireError(err)
		}
		return jsontext.Value("null"), nil
	}}
}

// result answers with what became of a call, with its result, which a notification
// may only have referred to.
func (f *Feature) result(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ResultParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	principal := string(r.Conn.Principal())
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		s, err := f.engine.Desk().Call(ctx, principal, p.CallID)
		if err != nil {
			return nil, wireError(err)
		}
		return s, nil
	}}
}

// wireError is an error of the engine as the client may see it.
func wireError(err error) error {
	var bad *notify.ConfigError
	switch {
	case errors.As(err, &bad):
		return jsonrpc.Errorf(int64(bad.Code), "%s", bad.Error()).WithData(bad.Data())
	case errors.Is(err, notify.ErrNotFound):
		return ahp.ErrNotFound
	}
	return err
}

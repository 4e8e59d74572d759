package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

func invalidParams(format string, args ...any) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

// maxURI bounds a URI a client chooses, in bytes.
const maxURI = 512

func chosenURI(uri ahp.URI, kind ahp.Kind, prefix string) bool {
	return ahp.KindOf(uri) == kind && len(uri) > len(prefix) && len(uri) <= maxURI
}

// resolveConfig tells which properties a session would have.
func (f *Feature) resolveConfig(_ context.Context, r *host.Request) jsonrpc.Reply {
	var p ahp.ResolveSessionConfigParams
	if err := r.Decode(&p); err != nil {
		return jsonrpc.Reply{Err: err}
	}
	provider, err := f.provider(p.Provider)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	slow, ok := provider.(agent.Preparer)
	asks := ok && !slow.Prepared() // an agent, which is started for it
	var held map[string]agent.Token
	if asks {
		if held, err = f.credentials.required(r.Conn, provider.Describe()); err != nil {
			return jsonrpc.Reply{Err: err}
		}
	}
	dirs := p.WorkingDirectories
	if len(dirs) == 0 && p.WorkingDirectory != nil {
		dirs = []ahp.URI{*p.WorkingDirectory}
	}
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) {
		if asks {
			slow.Prepare(ctx, agent.Spec{Directories: dirs, Tokens: held})
		}
		c, err := provider.ResolveConfig(ctx, dirs, p.Config)
		if err != nil {
			return nil, fmt.Errorf("resolve configuration: %w", err)
		}
		c.Schema.Type = "object"
		if c.Schema.Properties == nil {
			c.Schema.Properties = map[string]ahp.ConfigPropertySchema{}
		}
		if c.Values == nil {
			c.Values = map[string]jsontext.Value{}
		}
		return struct {
			Schema ahp.ConfigSchema          `json:"schema"`
			Values map[string]jsontext.Value `json:"values"`
		}{c.Schema, c.Values}, nil
	}}
}

// noItems is an answer without suggestions.
type noItems struct {
	Items []struct{} `json:"items"`
}

func (f *Feature) noConfigCompletions(context.Context, *host.Request) jsonrpc.Reply {
	return jsonrpc.Reply{Result: noItems{Items: []struct{}{}}}
}

func utf16Len(s string) (n int64) {
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// isBlank reports whether a message has nothing to say.
func isBlank(m *ahp.Message) bool {
	return m == nil || strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0
}

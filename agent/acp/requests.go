package acp

import (
	"context"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

var _ jsonrpc.Handler = (*session)(nil)

// HandleRequest implements jsonrpc.Handler. It runs on the reader: what must keep
// its place is done here, what takes time later.
func (s *session) HandleRequest(_ context.Context, m jsonrpc.Message) jsonrpc.Reply {
	switch m.Method {
	case methodPermission:
		return s.permission(m)
	case methodElicit:
		return s.elicit(m)
	case methodReadFile:
		return later(s, m, s.files.read)
	case methodWriteFile:
		return later(s, m, s.files.write)
	case methodTerminalCreate:
		return inOrder(s, m, s.terminals.create)
	case methodTerminalOutput:
		return inOrder(s, m, s.terminals.output)
	case methodTerminalKill:
		return inOrder(s, m, s.terminals.kill)
	case methodTerminalWait:
		return later(s, m, s.terminals.wait)
	case methodTerminalEnd:
		return later(s, m, s.terminals.release)
	}
	return jsonrpc.Reply{Err: jsonrpc.ErrMethodNotFound}
}

// errForeign answers a request about a session that is not the agent's.
var errForeign = jsonrpc.Errorf(codeResourceNotFound, "there is no such session")

// receive decodes the params of a request of the agent's own session.
func receive[P any](s *session, m jsonrpc.Message) (*P, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mine(m.Params) {
		return nil, errForeign
	}
	p := new(P)
	if err := decode(m.Params, p); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the params of %s cannot be read", m.Method)
	}
	return p, nil
}

// later serves a request off the reader.
func later[P any](s *session, m jsonrpc.Message, serve func(context.Context, *P) (any, error)) jsonrpc.Reply {
	p, err := receive[P](s, m)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	return jsonrpc.Reply{Later: func(ctx context.Context) (any, error) { return serve(ctx, p) }}
}

// inOrder serves a request that takes no time on the reader.
func inOrder[P any](s *session, m jsonrpc.Message, serve func(*P) (any, error)) jsonrpc.Reply {
	p, err := receive[P](s, m)
	if err != nil {
		return jsonrpc.Reply{Err: err}
	}
	r, err := serve(p)
	return jsonrpc.Reply{Result: r, Err: err}
}

// nothing is the result of a request that has none.
type nothing struct{}

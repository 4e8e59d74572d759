package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

// signedIn runs a request, and again after signing in if the agent wants that and
// there is a way that needs nobody.
func (s *session) signedIn(ctx context.Context, request func() error) error {
	err := request()
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != codeAuthRequired {
		return err
	}
	method := s.unattended()
	if method == "" {
		return err
	}
	if err := s.conn.call(ctx, methodAuthenticate, authenticateParams{MethodID: method}, nil); err != nil {
		return fmt.Errorf("sign in by %s: %w", method, err)
	}
	return request()
}

// unattended is the way to sign in that was configured, or one that takes a key
// from the environment when all it names is there. Others may open a browser on
// the host, where nobody sits.
func (s *session) unattended() string {
	if s.provider.opts.AuthMethod != "" {
		return s.provider.opts.AuthMethod
	}
	for _, m := range s.init.AuthMethods {
		if m.Type == "env_var" && len(m.Vars) > 0 && m.complete(s.env) {
			return m.ID
		}
	}
	return ""
}

// complete reports whether every variable the method needs is set.
func (m *authMethod) complete(env []string) bool {
	for _, v := range m.Vars {
		set := slices.ContainsFunc(env, func(kv string) bool {
			return strings.HasPrefix(kv, v.Name+"=") && len(kv) > len(v.Name)+1
		})
		if !set && !v.Optional {
			return false
		}
	}
	return true
}

// signInText says that the agent wants a sign-in, and which ways there are.
func (s *session) signInText(e *jsonrpc.Error) string {
	text := s.name() + " needs you to sign in: " + errorText(e)
	var ways []string
	for _, m := range s.init.AuthMethods {
		way := fmt.Sprintf("%s (%s)", oneLine(m.Name), oneLine(m.ID))
		var names []string
		for _, v := range m.Vars {
			names = append(names, v.Name)
		}
		if names != nil {
			way += ", which takes " + strings.Join(names, " and ") + " from the host's environment"
		}
		ways = append(ways, way)
	}
	if ways != nil {
		text += ". It offers: " + strings.Join(ways, "; ")
	}
	return text + ". Sign in with the agent's own program on the host, or set its key in the environment of 'causeway serve'"
}

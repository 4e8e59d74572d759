package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
)

// Types of a start that failed, as clients see them.
const (
	errStartFailed = "agentStartFailed"
	errAuth        = "authRequired"
	errVersion     = "unsupportedAcpVersion"
	errDirectory   = "workingDirectoryNotFound"
)

// Open implements agent.Provider. The first directory must exist.
func (p *Provider) Open(ctx context.Context, spec agent.Spec, host agent.Host) (agent.Session, error) {
	dirs, err := p.directories(spec.Directories)
	if err != nil {
		return nil, err
	}
	s, err := p.takeSpare(spec, dirs)
	if s == nil && err == nil {
		s, err = p.start(ctx, spec)
	}
	if err != nil {
		return nil, err
	}
	s.applyConfig(ctx, spec.Config)
	s.attach(ctx, spec.Config, host)
	return s, nil
}

// directories are the paths of a session's directories. ACP knows local ones
// only.
func (p *Provider) directories(uris []ahp.URI) ([]string, error) {
	if len(uris) == 0 {
		return nil, &agent.StartError{Type: errDirectory, Message: fmt.Sprintf("agent %s needs a working directory", p.opts.Name)}
	}
	var dirs []string
	for i, uri := range uris {
		path, err := agent.LocalPath(uri)
		if err != nil {
			return nil, &agent.StartError{Type: errDirectory, Message: "the working directory must be a local file URI", Err: err}
		}
		if info, err := os.Stat(path); i == 0 && (err != nil || !info.IsDir()) {
			return nil, &agent.StartError{
				Type: errDirectory, Err: err,
				Message: fmt.Sprintf("the working directory %s does not exist or cannot be read", path),
			}
		}
		dirs = append(dirs, path)
	}
	return dirs, nil
}

// start starts an agent with a session. Nobody hears of it yet.
func (p *Provider) start(ctx context.Context, spec agent.Spec) (*session, error) {
	dirs, err := p.directories(spec.Directories)
	if err != nil {
		return nil, err
	}
	extra, err := sessionServers(spec.Config)
	if err != nil {
		return nil, &agent.StartError{Type: errStartFailed, Message: err.Error(), Err: err}
	}
	if err := p.backoff.wait(ctx); err != nil {
		return nil, &agent.StartError{Type: errStartFailed, Message: "the start was given up", Err: err}
	}
	s, err := p.spawn(ctx, dirs, spec.Tokens)
	if err != nil {
		p.backoff.failed()
		return nil, err
	}
	s.turns0 = spec.Turns
	s.servers = append(append([]mcpServer{}, p.servers...), extra...)
	if err := s.handshake(ctx, spec); err != nil {
		if !s.answered() {
			p.backoff.failed()
		}
		err = s.startError(err)
		_ = s.Close()
		return nil, err
	}
	p.backoff.reset()
	return s, nil
}

// answered reports whether the agent got as far as to say who it is: what fails
// after that is not its start.
func (s *session) answered() bool { return s.init.ProtocolVersion != 0 }

// spawn starts the process and the connection to it.
func (p *Provider) spawn(ctx context.Context, dirs []string, tokens map[string]agent.Token) (*session, error) {
	env := p.environ(tokens)
	peer, err := p.launch(ctx, dirs[0], env)
	if err != nil {
		return nil, &agent.StartError{Type: errStartFailed, Message: p.launchText(err), Err: err}
	}
	s := &session{
		provider: p, log: p.opts.Log.With("agent", p.opts.Name), stats: &p.stats, dirs: dirs, env: env, tokens: tokens, changed: make(chan struct{}, 1),
	}
	// The session outlives the call that opened it.
	s.life, s.finish = context.WithCancelCause(context.WithoutCancel(ctx))
	s.files = openFiles(p.opts.Files, dirs)
	s.terminals = newTerminals(s.life, s.files, dirs[0], p.env, s.outputChanged)
	s.conn = newConn(s.life, peer, s, s.log, s.stats)
	s.conn.heard = s.heard
	p.mu.Lock()
	closed := p.closed
	p.sessions[s] = struct{}{}
	p.mu.Unlock()
	s.conn.start()
	if closed {
		_ = s.Close()
		return nil, &agent.StartError{Type: errStartFailed, Message: "the host is shutting down", Err: agent.ErrClosed}
	}
	return s, nil
}

// launchText says why a program could not be started, and what to do.
func (p *Provider) launchText(err error) string {
	if len(p.opts.Command.Argv) == 0 {
		return fmt.Sprintf("agent %s could not be started", p.opts.Name)
	}
	program := p.opts.Command.Argv[0]
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Sprintf("agent %s: there is no program %q on the host's PATH; install it, or name it by its whole path", p.opts.Name, program)
	}
	return fmt.Sprintf("agent %s: %q could not be started", p.opts.Name, program)
}

var errStartTimeout = errors.New("the agent took too long to start")

// handshake initializes the agent and opens its session.
func (s *session) handshake(ctx context.Context, spec agent.Spec) error {
	limit := s.provider.opts.StartTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStartTimeout)
	defer cancel()
	p := initializeParams{
		ProtocolVersion: protocolVersion,
		ClientInfo:      implementation{Name: "causeway", Title: "Causeway", Version: s.provider.opts.Version},
	}
	p.ClientCapabilities.FS.ReadTextFile = s.files.mayRead()
	p.ClientCapabilities.FS.WriteTextFile = s.files.mayWrite()
	p.ClientCapabilities.Terminal = true
	if err := s.conn.call(ctx, methodInitialize, p, &s.init); err != nil {
		return err
	}
	if s.init.ProtocolVersion != protocolVersion {
		return errWrongVersion
	}
	return s.openSession(ctx, spec)
}

var errWrongVersion = errors.New("the agent speaks another version of ACP")

// openSession takes up the session the token names, or opens a new one.
func (s *session) openSession(ctx context.Context, spec agent.Spec) error {
	p := sessionParams{Cwd: s.dirs[0], MCPServers: s.usable(s.servers)}
	if has(s.init.AgentCapabilities.SessionCapabilities.AdditionalDirectories) {
		p.AdditionalDirectories = s.dirs[1:]
	}
	if s.takeUp(ctx, p, spec) {
		return nil
	}
	if spec.Turns > 0 {
		s.preface = appendSentence(s.preface, s.name()+" was started anew and has no memory of the earlier turns.")
	}
	var r sessionResult
	err := s.signedIn(ctx, func() error { return s.conn.call(ctx, methodSessionNew, p, &r) })
	if err != nil {
		return err
	}
	if r.SessionID == "" {
		return errors.New("the agent opened a session without an id")
	}
	s.opened(r.SessionID, &r)
	return nil
}

// opened notes what the session is.
func (s *session) opened(id string, r *sessionResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
	if s.options == nil || len(r.ConfigOptions) > 0 {
		s.options = offered(r)
	}
}

// takeUp goes on with an earlier session where the agent can. What it repeats of
// the conversation is swallowed: the host has it.
func (s *session) takeUp(ctx context.Context, p sessionParams, spec agent.Spec) bool {
	var token resumeToken
	if len(spec.ResumeToken) == 0 || json.Unmarshal(spec.ResumeToken, &token) != nil || token.SessionID == "" {
		return false
	}
	p.SessionID = token.SessionID
	for _, way := range []struct {
		method string
		can    bool
	}{
		{methodSessionResume, has(s.init.AgentCapabilities.SessionCapabilities.Resume)},
		{methodSessionLoad, s.init.AgentCapabilities.LoadSession},
	} {
		if !way.can {
			continue
		}
		var r sessionResult
		s.load(true)
		err := s.signedIn(ctx, func() error { return s.conn.call(ctx, way.method, p, &r) })
		s.load(false)
		if err == nil {
			s.opened(token.SessionID, &r)
			s.compare(way.method, spec.Turns)
			return true
		}
		s.log.Warn("agent could not take up its session", "method", way.method, "err", err)
		if s.Err() != nil {
			return false
		}
	}
	return false
}

func (s *session) load(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading, s.replayed = on, replay{messages: s.replayed.messages}
}

// compare warns when the agent remembers another number of messages than the host
// has turns.
func (s *session) compare(method string, turns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == methodSessionLoad && s.replayed.messages != turns {
		s.log.Warn("agent remembers another conversation than the host", "messages", s.replayed.messages, "turns", turns)
	}
}

// startError says in words what kept the agent from starting.
func (s *session) startError(err error) error {
	var wire *jsonrpc.Error
	e := &agent.StartError{Type: errStartFailed, Err: err}
	switch {
	case errors.Is(err, errWrongVersion):
		e.Type = errVersion
		e.Message = fmt.Sprintf("%s speaks version %d of ACP; this host speaks version %d", s.name(), s.init.ProtocolVersion, protocolVersion)
	case errors.As(err, &wire) && wire.Code == codeAuthRequired:
		e.Type, e.Message = errAuth, s.signInText(wire)
	case errors.As(err, &wire):
		e.Message = s.name() + " could not open a session: " + errorText(wire)
		if words := s.lastWords(); words != "" {
			e.Message += " (" + words + ")"
		}
	case errors.Is(err, errStartTimeout):
		e.Message = fmt.Sprintf("%s did not answer within %v", s.name(), s.provider.opts.StartTimeout)
	default:
		e.Message = s.deathText(err)
	}
	return e
}

// deathText says how an agent ended while it was being started.
func (s *session) deathText(err error) string {
	text := s.name() + " ended before it was ready"
	limit := time.NewTimer(closeGrace)
	defer limit.Stop()
	select {
	case <-s.conn.gone:
	case <-limit.C:
		return s.name() + " could not be started: " + redact(oneLine(err.Error()))
	}
	if status := s.conn.peer.Status(); status != "" {
		text += " (" + status + ")"
	}
	if words := s.lastWords(); words != "" {
		text += ": " + words
	}
	return strings.TrimSpace(text)
}

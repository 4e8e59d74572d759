package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
)

// DefaultStartTimeout is how long an agent may take to answer while it is being
// started. It is generous because "npx" fetches a package first.
const DefaultStartTimeout = 2 * time.Minute

// Options describe one kind of agent. Name and either Command or Launch are
// needed.
type Options struct {
	Name        string // the provider's id
	DisplayName string // default: Name
	Description string // default: says how it is started
	Command     Command
	// Launch starts the agent in place of Command, in a working directory. The
	// context bounds the start alone.
	Launch func(ctx context.Context, dir string) (Peer, error)
	// Environ is what agents and the commands they start inherit, nil for the
	// host's own. Names that begin with CAUSEWAY_ are left out of it.
	Environ []string
	// Tokens are the variables in which agents find tokens that clients bring. The
	// commands they start through the host do not inherit them.
	Tokens       []TokenVariable
	AuthMethod   string // id of the way to sign in that is taken when the agent wants one
	MCPServers   []MCPServer
	Files        FileAccess
	StartTimeout time.Duration // default DefaultStartTimeout
	Log          *slog.Logger  // never receives payloads
	Version      string        // of this program, as agents see it
}

// TokenVariable is a variable of the environment for a bearer token.
type TokenVariable struct {
	Variable string
	Resource ahp.ProtectedResourceMetadata
}

func (o Options) withDefaults() Options {
	if o.DisplayName == "" {
		o.DisplayName = o.Name
	}
	if o.Description == "" && len(o.Command.Argv) > 0 {
		o.Description = "Agent started as " + oneLine(strings.Join(o.Command.Argv, " "))
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Provider makes sessions of one kind of agent, each a process of its own. Its
// methods may be called concurrently.
type Provider struct {
	opts    Options
	env     []string
	servers []mcpServer
	stats   counters

	preparing chan struct{} // holds a token while an agent is started ahead

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	spare    *spare
	learned  options // of the agent seen last
	knows    bool    // learned is set
	backoff  backoff
}

var (
	_ agent.Provider = (*Provider)(nil)
	_ agent.Preparer = (*Provider)(nil)
)

// New returns a provider that has started nothing yet.
func New(o Options) (*Provider, error) {
	o = o.withDefaults()
	switch {
	case o.Name == "":
		return nil, errors.New("an agent needs a name")
	case o.Launch == nil && len(o.Command.Argv) == 0:
		return nil, fmt.Errorf("agent %s needs a command", o.Name)
	}
	p := &Provider{opts: o, preparing: make(chan struct{}, 1), sessions: make(map[*session]struct{})}
	for _, kv := range o.Environ {
		if !strings.HasPrefix(kv, privatePrefix) {
			p.env = append(p.env, kv)
		}
	}
	for i := range o.MCPServers {
		p.servers = append(p.servers, o.MCPServers[i].wire())
	}
	return p, nil
}

// privatePrefix begins the names of the host's own variables, which may hold
// tokens.
const privatePrefix = "CAUSEWAY_"

// Stats returns the counters now.
func (p *Provider) Stats() Stats { return p.stats.stats() }

// Describe implements agent.Provider.
func (p *Provider) Describe() agent.Description {
	d := agent.Description{Provider: p.opts.Name, DisplayName: p.opts.DisplayName, Description: p.opts.Description}
	for _, t := range p.opts.Tokens {
		d.Resources = append(d.Resources, t.Resource)
	}
	return d
}

// environ is what an agent inherits.
func (p *Provider) environ(tokens map[string]agent.Token) []string {
	env := slices.Concat(p.env, p.opts.Command.Env)
	for _, t := range p.opts.Tokens {
		if token := tokens[t.Resource.Resource]; token != "" {
			env = append(env, t.Variable+"="+string(token))
		}
	}
	return env
}

// learn notes what the agent offers, for sessions to come.
func (p *Provider) learn(list options) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.learned, p.knows = slices.Clone(list), true
}

// Prepared implements agent.Preparer.
func (p *Provider) Prepared() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.knows
}

// ResolveConfig implements agent.Provider with what the agent offered last.
func (p *Provider) ResolveConfig(_ context.Context, _ []ahp.URI, values map[string]jsontext.Value) (agent.Config, error) {
	p.mu.Lock()
	list, knows := p.learned, p.knows
	p.mu.Unlock()
	c := agent.Config{Schema: ahp.ConfigSchema{Type: "object", Properties: list.schema()}, Values: list.values()}
	c.Schema.Properties[mcpProperty] = mcpSchema()
	if _, err := sessionServers(values); err != nil {
		return agent.Config{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", err.Error())
	}
	for id, v := range values {
		o := list.find(id)
		switch {
		case id == mcpProperty || !knows:
		case o == nil:
			return agent.Config{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "agent %s has no configuration property %q", p.opts.Name, oneLine(id))
		default:
			if reason := o.check(v); reason != "" {
				return agent.Config{}, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "configuration property %s %s", id, reason)
			}
		}
	}
	maps.Copy(c.Values, values)
	return c, nil
}

// mcpSchema describes mcpProperty.
func mcpSchema() ahp.ConfigPropertySchema {
	return ahp.ConfigPropertySchema{
		Type: "array", Title: "MCP servers", Items: &ahp.ConfigPropertySchema{Type: "object", Title: "Server"},
		Description:    new("Further MCP servers for this session, as ACP writes them"),
		SessionMutable: new(false),
	}
}

// launch starts a process in dir.
func (p *Provider) launch(ctx context.Context, dir string, env []string) (Peer, error) {
	if p.opts.Launch != nil {
		return p.opts.Launch(ctx, dir)
	}
	child, err := process.StartChild(process.Command{Argv: p.opts.Command.Argv, Dir: dir, Env: append(slices.Clip(env), "PWD="+dir)})
	if err != nil {
		return nil, err
	}
	return child, nil
}

// forget drops a session that has ended.
func (p *Provider) forget(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sessions, s)
}

// Close implements agent.Provider.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	spare := p.spare
	open := slices.Collect(maps.Keys(p.sessions))
	p.mu.Unlock()
	if spare != nil {
		spare.drop()
	}
	var closing sync.WaitGroup
	for _, s := range open {
		closing.Go(func() { _ = s.Close() })
	}
	closing.Wait()
	return nil
}

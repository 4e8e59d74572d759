package main

import (
	"log/slog"
	"regexp"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/agent/acp"
	"github.com/causeway-ahp/causeway/agent/script"
	"github.com/causeway-ahp/causeway/agent/shell"
	"github.com/spf13/pflag"
)

// agentOptions are the flags about agents.
type agentOptions struct {
	commands []string // NAME=COMMAND
	auth     []string // NAME=METHOD
	tokens   []string // agentTokenForm
	servers  []string // NAME=COMMAND or NAME=URL
	files    string
}

func (o *agentOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.commands, "agent", nil, "`NAME=COMMAND` of an agent that speaks ACP; repeatable. Quotes and backslashes as in a shell, NAME=VALUE in front of the program sets its environment, nothing is expanded")
	f.StringArrayVar(&o.auth, "agent-auth", nil, "`NAME=METHOD` by which an agent signs in when it has to; repeatable. Its failure lists the methods")
	f.StringArrayVar(&o.tokens, "agent-token", nil, "`"+agentTokenForm+"`: the agent finds a token for the resource in the variable, and clients bring it; repeatable. VARIABLE? for an agent that can do without; @FILE in place of the resource's URL for metadata as RFC 9728 has it")
	f.StringArrayVar(&o.servers, "mcp-server", nil, "`NAME=COMMAND` or NAME=URL of an MCP server that agents are to use; repeatable")
	f.StringVar(&o.files, "agent-files", "write", "what agents may do through the host with files of their session: `write`, read or none")
}

var agentName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// check finds what makes no sense, without starting anything.
func (o *agentOptions) check() error {
	_, err := o.providers(slog.New(slog.DiscardHandler))
	return err
}

// providers are the agents on offer; the first is the default.
func (o *agentOptions) providers(log *slog.Logger) ([]agent.Provider, error) {
	scripts, err := script.New(script.Options{Log: log})
	if err != nil {
		return nil, err
	}
	list := []agent.Provider{shell.New(shell.Options{}), scripts}
	common, err := o.common(log)
	if err != nil {
		return nil, err
	}
	methods, err := pairs("--agent-auth", o.auth, "NAME=METHOD")
	if err != nil {
		return nil, err
	}
	tokens, err := agentTokens(o.tokens)
	if err != nil {
		return nil, err
	}
	commands, err := pairs("--agent", o.commands, "NAME=COMMAND")
	if err != nil {
		return nil, err
	}
	used := map[string]bool{shell.ProviderID: true, script.ProviderID: true}
	for _, c := range commands {
		if used[c.name] {
			return nil, usagef("--agent: there are two agents called %q", c.name)
		}
		used[c.name] = true
		options := common
		options.Name = c.name
		for _, m := range methods {
			if m.name == c.name {
				options.AuthMethod = m.value
			}
		}
		for _, t := range tokens {
			if t.agent == c.name {
				options.Tokens = append(options.Tokens, t.TokenVariable)
			}
		}
		if options.Command, err = acp.ParseCommand(c.value); err != nil {
			return nil, usagef("--agent %s: %w", c.name, err)
		}
		p, err := acp.New(options)
		if err != nil {
			return nil, usagef("--agent %s: %w", c.name, err)
		}
		list = append(list, p)
	}
	for _, m := range methods {
		if !used[m.name] || m.name == shell.ProviderID || m.name == script.ProviderID {
			return nil, usagef("--agent-auth: there is no --agent %s", m.name)
		}
	}
	for _, t := range tokens {
		if !used[t.agent] || t.agent == shell.ProviderID || t.agent == script.ProviderID {
			return nil, usagef("--agent-token: there is no --agent %s", t.agent)
		}
	}
	return list, nil
}

// common is what all agents have.
func (o *agentOptions) common(log *slog.Logger) (acp.Options, error) {
	options := acp.Options{Log: log, Version: buildVersion()}
	switch o.files {
	case "write", "":
		options.Files = acp.FilesReadWrite
	case "read":
		options.Files = acp.FilesReadOnly
	case "none":
		options.Files = acp.FilesNone
	default:
		return options, usagef("--agent-files %q is none of write, read, none", o.files)
	}
	for _, text := range o.servers {
		m, err := acp.ParseMCPServer(text)
		if err != nil {
			return options, usagef("--mcp-server: %w", err)
		}
		options.MCPServers = append(options.MCPServers, m)
	}
	return options, nil
}

type pair struct{ name, value string }

// pairs reads NAME=VALUE.
func pairs(flag string, texts []string, form string) ([]pair, error) {
	var list []pair
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || value == "" || !agentName.MatchString(name) {
			return nil, usagef("%s %q is not of the form %s", flag, text, form)
		}
		list = append(list, pair{name, value})
	}
	return list, nil
}

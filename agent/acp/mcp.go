package acp

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MCPServer is an MCP server that agents are to use: a program they start, or a
// URL.
type MCPServer struct {
	Name    string
	Command Command           // of a program; URL is "" then
	URL     string            // of a streamable HTTP server
	Headers map[string]string // with URL
}

// ParseMCPServer reads NAME=COMMAND or NAME=URL, the command as [ParseCommand]
// does.
func ParseMCPServer(text string) (MCPServer, error) {
	name, rest, ok := strings.Cut(text, "=")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	if !ok || name == "" || rest == "" {
		return MCPServer{}, fmt.Errorf("%q is not of the form NAME=COMMAND or NAME=URL", text)
	}
	if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
		return MCPServer{Name: name, URL: rest}, nil
	}
	c, err := ParseCommand(rest)
	if err != nil {
		return MCPServer{}, fmt.Errorf("MCP server %s: %w", name, err)
	}
	return MCPServer{Name: name, Command: c}, nil
}

// mcpServer is one on the wire. A program has no type.
type mcpServer struct {
	Type    string    `json:"type,omitzero"`
	Name    string    `json:"name"`
	Command string    `json:"command,omitzero"`
	Args    *[]string `json:"args,omitzero"`
	Env     *[]envVar `json:"env,omitzero"`
	URL     string    `json:"url,omitzero"`
	Headers *[]envVar `json:"headers,omitzero"`
}

func (m *MCPServer) wire() mcpServer {
	if m.URL != "" {
		headers := []envVar{}
		for name, value := range m.Headers {
			headers = append(headers, envVar{name, value})
		}
		return mcpServer{Type: "http", Name: m.Name, URL: m.URL, Headers: &headers}
	}
	args, env := append([]string{}, m.Command.Argv[1:]...), []envVar{}
	for _, kv := range m.Command.Env {
		name, value, _ := strings.Cut(kv, "=")
		env = append(env, envVar{name, value})
	}
	return mcpServer{Name: m.Name, Command: programPath(m.Command.Argv[0]), Args: &args, Env: &env}
}

// programPath is the absolute path of a program, which agents expect. One that is
// not found stays as it is: the agent says so.
func programPath(name string) string {
	found, err := exec.LookPath(name)
	if err != nil {
		return name
	}
	if abs, err := filepath.Abs(found); err == nil {
		return abs
	}
	return found
}

// mcpProperty is the configuration property that adds servers for one session.
const mcpProperty = "mcpServers"

// sessionServers are the servers a session's configuration names, in the form of
// ACP.
func sessionServers(config map[string]jsontext.Value) ([]mcpServer, error) {
	raw := config[mcpProperty]
	if len(raw) == 0 || raw.Kind() == jsontext.KindNull {
		return nil, nil
	}
	var list []mcpServer
	if err := decode(raw, &list); err != nil {
		return nil, fmt.Errorf("%s must be a list of servers: {name, command, args, env} or {type: http, name, url, headers}", mcpProperty)
	}
	for i := range list {
		m := &list[i]
		switch {
		case m.Name == "" || (m.Command == "") == (m.URL == ""):
			return nil, fmt.Errorf("%s[%d] needs a name and either a command or a url", mcpProperty, i)
		case m.URL != "":
			m.Headers = orEmpty(m.Headers)
			if m.Type == "" {
				m.Type = "http"
			}
		default:
			m.Type, m.Args, m.Env = "", orEmpty(m.Args), orEmpty(m.Env)
		}
	}
	return list, nil
}

// orEmpty is a list that is written also when it is empty, as ACP wants it.
func orEmpty[T any](list *[]T) *[]T {
	if list == nil {
		return &[]T{}
	}
	return list
}

// usable leaves out the servers the agent has no transport for (agents.md, 1.2).
func (s *session) usable(servers []mcpServer) []mcpServer {
	takes := s.init.AgentCapabilities.MCPCapabilities
	list := make([]mcpServer, 0, len(servers))
	for _, m := range servers {
		if m.Type == "http" && !takes.HTTP || m.Type == "sse" && !takes.SSE {
			s.log.Warn("agent cannot use an MCP server of this transport", "server", m.Name, "transport", m.Type)
			s.preface = appendSentence(s.preface, fmt.Sprintf("The MCP server %s is not available: the agent cannot reach servers over %s.", m.Name, m.Type))
			continue
		}
		list = append(list, m)
	}
	return list
}

func appendSentence(text, sentence string) string {
	if text == "" {
		return sentence
	}
	return text + " " + sentence
}

package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/causeway-ahp/causeway/agent/acp"
	"github.com/causeway-ahp/causeway/ahp"
)

// agentTokenForm is what --agent-token takes.
const agentTokenForm = "NAME:VARIABLE=RESOURCE"

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// agentToken is a token that an agent takes from a variable of its environment, and
// that clients bring.
type agentToken struct {
	agent string
	acp.TokenVariable
}

// agentTokens reads --agent-token.
func agentTokens(texts []string) ([]agentToken, error) {
	var list []agentToken
	for _, text := range texts {
		t, err := parseAgentToken(text)
		if err != nil {
			return nil, usagef("--agent-token %q: %w", text, err)
		}
		for _, other := range list {
			if other.agent == t.agent && (other.Variable == t.Variable || other.Resource.Resource == t.Resource.Resource) {
				return nil, usagef("--agent-token %q: agent %s has that variable or resource already", text, t.agent)
			}
		}
		list = append(list, t)
	}
	return list, nil
}

func parseAgentToken(text string) (t agentToken, err error) {
	var resource string
	head, resource, ok := strings.Cut(text, "=")
	name, variable, ok2 := strings.Cut(head, ":")
	variable, optional := strings.CutSuffix(variable, "?")
	if !ok || !ok2 || !agentName.MatchString(name) || !variableName.MatchString(variable) || resource == "" {
		return t, fmt.Errorf("it is not of the form %s", agentTokenForm)
	}
	t = agentToken{agent: name, TokenVariable: acp.TokenVariable{Variable: variable}}
	if path, isFile := strings.CutPrefix(resource, "@"); isFile {
		data, err := os.ReadFile(path)
		if err != nil {
			return t, err
		}
		if err := ahp.Unmarshal(data, &t.Resource); err != nil {
			return t, fmt.Errorf("%s is no protected resource metadata (RFC 9728): %w", path, err)
		}
	} else {
		t.Resource.Resource = resource
	}
	if optional {
		t.Resource.Required = new(false)
	}
	u, err := url.Parse(t.Resource.Resource)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return t, fmt.Errorf("resource %q is not an https URL without a fragment (RFC 9728, 1.2)", t.Resource.Resource)
	}
	return t, nil
}

package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
)

// addResourceTokenFlag gives a client command the tokens its user has. They stand in the
// environment: others can read a command line.
func addResourceTokenFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray("resource-token", nil, "`RESOURCE=VARIABLE`: the environment variable that holds your token for a resource that an agent needs; repeatable")
}

// resourceTokens are the names of variables by resource.
type resourceTokens map[string]string

func readResourceTokens(cmd *cobra.Command) (resourceTokens, error) {
	texts, err := cmd.Flags().GetStringArray("resource-token")
	if err != nil {
		return nil, err
	}
	tokens := make(resourceTokens)
	for _, text := range texts {
		i := strings.LastIndexByte(text, '=') // a URL may have one as well
		if i <= 0 || !variableName.MatchString(text[i+1:]) {
			return nil, usagef("--resource-token %q is not of the form RESOURCE=VARIABLE", text)
		}
		resource, variable := text[:i], text[i+1:]
		if os.Getenv(variable) == "" {
			return nil, usagef("--resource-token: the variable %s is not set", variable)
		}
		tokens[resource] = variable
	}
	return tokens, nil
}

// push gives the host every token, before anything needs one.
func (t resourceTokens) push(ctx context.Context, c *client.Client) error {
	for resource, variable := range t {
		err := c.Authenticate(ctx, client.Credential{Resource: resource, Token: os.Getenv(variable)})
		if err != nil {
			return fmt.Errorf("--resource-token %s: %w", resource, err)
		}
	}
	return nil
}

// token is client.Options.Token.
func (t resourceTokens) token(_ context.Context, want ahp.AuthRequiredParams) (client.Credential, error) {
	resource := want.Resource.Resource
	variable, ok := t[resource]
	switch {
	case !ok:
		return client.Credential{}, fmt.Errorf("name the environment variable that holds your token: --resource-token %s=VARIABLE", resource)
	case want.Reason == ahp.AuthReasonExpired:
		return client.Credential{}, fmt.Errorf("the token in $%s has expired", variable)
	}
	return client.Credential{Token: os.Getenv(variable)}, nil
}

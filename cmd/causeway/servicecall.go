package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

func newServiceCall() *cobra.Command {
	cmd := &cobra.Command{
		Use: "call SERVICE METHOD [PARAMS]", Short: "Call a service and print its answer",
		Long: `Calls a method of a service and prints the answer as JSON on one line. PARAMS is
JSON, null if it is left out; "-" reads it from standard input.

` + selectorHelp,
		Args: args(cobra.RangeArgs(2, 3)), RunE: withServices(callService),
	}
	addServiceFlags(cmd)
	cmd.Flags().Duration("timeout", 30*time.Second, "how long to wait for the answer")
	return cmd
}

func newServiceNotify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify SERVICE METHOD [PARAMS]", Short: "Notify a service",
		Long: `Sends a notification to a service. Nobody answers: whether there is such a
service, and whether it listens, is not told. PARAMS is JSON, null if it is left
out; "-" reads it from standard input.

` + selectorHelp,
		Args: args(cobra.RangeArgs(2, 3)), RunE: withServices(notifyService),
	}
	addServiceFlags(cmd)
	return cmd
}

const selectorHelp = `SERVICE is an id as 'causeway service list' shows it, or name=value pairs of the
service's metadata with commas between, which exactly one service must have.`

func addServiceFlags(cmd *cobra.Command) {
	addURLFlag(cmd)
	cmd.Flags().Duration("wait", 0, "how long to wait for a service that matches name=value")
}

func callService(cmd *cobra.Command, c *client.Client, args []string) error {
	timeout, err := cmd.Flags().GetDuration("timeout")
	if err != nil {
		return err
	}
	params, err := readParams(cmd.InOrStdin(), args[2:])
	if err != nil {
		return err
	}
	s, err := findService(cmd, c, args[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	var result jsontext.Value
	if err := s.Call(ctx, args[1], params, &result); err != nil {
		return explainCall(err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", result)
	return err
}

func notifyService(cmd *cobra.Command, c *client.Client, args []string) error {
	params, err := readParams(cmd.InOrStdin(), args[2:])
	if err != nil {
		return err
	}
	s, err := findService(cmd, c, args[0])
	if err != nil {
		return err
	}
	if err := s.Notify(cmd.Context(), args[1], params); err != nil {
		return err
	}
	return c.Ping(cmd.Context()) // answered after the host has read the notification
}

// readParams reads the params of the command line.
func readParams(stdin io.Reader, args []string) (jsontext.Value, error) {
	if len(args) == 0 {
		return nil, nil
	}
	raw := jsontext.Value(args[0])
	if args[0] == "-" {
		var err error
		if raw, err = io.ReadAll(stdin); err != nil {
			return nil, fmt.Errorf("read PARAMS: %w", err)
		}
	}
	if err := jsonrpc.Check(raw, jsonrpc.MaxDepth-1); err != nil {
		return nil, usagef("PARAMS is not JSON; text needs quotes inside of the shell's: '\"text\"'")
	}
	return jsontext.Value(strings.TrimSpace(string(raw))), nil
}

// explainCall says what can be done about a failed call.
func explainCall(err error) error {
	var failed *client.CallError
	var own *ahp.Error
	switch {
	case errors.Is(err, client.ErrServiceNotFound):
		return fmt.Errorf("%w; 'causeway service list' shows the services there are", err)
	case errors.Is(err, client.ErrServiceDenied):
		return fmt.Errorf("%w; the host's --policy file says who may call what", err)
	case errors.Is(err, client.ErrServiceTimeout):
		return fmt.Errorf("%w; --timeout waits longer", err)
	case errors.As(err, &failed) && failed.FromService() && errors.As(err, &own) && len(own.Data) > 0:
		return fmt.Errorf("%w: %s", err, oneLine(string(own.Data), 2000))
	}
	return err
}

// selector says which service is meant.
type selector struct {
	text string
	id   string            // a service's id, or
	want map[string]string // members of its metadata
}

func parseSelector(arg string) (selector, error) {
	if !strings.Contains(arg, "=") {
		if arg == "" {
			return selector{}, usagef("SERVICE is empty")
		}
		return selector{text: arg, id: arg}, nil
	}
	s := selector{text: arg, want: make(map[string]string)}
	for _, pair := range strings.Split(arg, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return selector{}, usagef("%q is neither a service's id nor name=value", arg)
		}
		s.want[name] = value
	}
	return s, nil
}

// matches reports whether a service has the members. A value is compared with
// the text of a string, and with the JSON of anything else.
func (s selector) matches(service ahp.ClientService) bool {
	for name, want := range s.want {
		raw, ok := jsonrpc.Member(service.Metadata, name)
		if !ok {
			return false
		}
		text, isString := jsonrpc.StringValue(raw)
		if isString && text != want || !isString && string(raw) != want {
			return false
		}
	}
	return true
}

// findService finds the one service that is meant.
func findService(cmd *cobra.Command, c *client.Client, arg string) (*client.Service, error) {
	sel, err := parseSelector(arg)
	if err != nil {
		return nil, err
	}
	if sel.id != "" {
		return c.Service(sel.id), nil
	}
	wait, err := cmd.Flags().GetDuration("wait")
	if err != nil {
		return nil, err
	}
	list, err := c.Services(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer list.Close()
	if wait > 0 {
		ctx, cancel := context.WithTimeout(cmd.Context(), wait)
		defer cancel()
		if _, err := list.Wait(ctx, sel.matches); err != nil && (ctx.Err() == nil || cmd.Context().Err() != nil) {
			return nil, err
		}
	}
	return sel.only(c, list.Items())
}

// only is the one service that matches.
func (s selector) only(c *client.Client, services []ahp.ClientService) (*client.Service, error) {
	var found []ahp.ClientService
	for _, service := range services {
		if s.matches(service) {
			found = append(found, service)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no service has %s; 'causeway service list' shows the %d there are, --wait 10s waits for one", s.text, len(services))
	case 1:
		return c.Service(found[0].ServiceID), nil
	}
	var b strings.Builder
	for _, service := range found {
		fmt.Fprintf(&b, "\n  %s  %s", oneLine(service.ServiceID, 64), oneLine(string(service.Metadata), 100))
	}
	return nil, fmt.Errorf("%d services have %s; name one by its id, or add a pair:%s", len(found), s.text, b.String())
}

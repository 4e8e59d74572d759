package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
	programs "github.com/causeway-ahp/causeway/service/program"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

func newServiceServe() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve --metadata JSON -- COMMAND [ARG...]", Short: "Offer a program as a service",
		Long: `Offers a program as a service until it is interrupted. The program is started once
and kept running. Each call is a line of JSON on its standard input:

  {"id":1,"method":"m","params":[1,2],"sender":"client-id"}

and a notification the same without the id. It answers with a line of its own:

  {"id":1,"result":3}      or      {"id":1,"error":{"code":7,"message":"why"}}

in any order. A program that knows nothing of ids answers every line it gets, in
order, with any JSON: that is the result. It must not buffer its output.

The service's id is printed when it is registered, and again after a reconnect,
when it is a new one. A program that ends is started again; one that keeps ending
ends the service.`,
		Example: `  causeway service serve --metadata '{"protocol":"length"}' -- jq -c --unbuffered '{id, result: (.params | length)}'
  causeway service call protocol=length any '[1,2,3]'`,
		Args: args(cobra.MinimumNArgs(1)), RunE: withServices(serveProgram),
	}
	addURLFlag(cmd)
	cmd.Flags().String("metadata", "", "what the service is: a JSON `object` that others find it by")
	return cmd
}

func serveProgram(cmd *cobra.Command, c *client.Client, argv []string) error {
	metadata, err := cmd.Flags().GetString("metadata")
	if err != nil {
		return err
	}
	raw := jsontext.Value(metadata)
	if jsonrpc.Check(raw, jsonrpc.MaxDepth-1) != nil || raw.Kind() != '{' {
		return usagef(`--metadata must be a JSON object, such as '{"protocol":"my-service","version":1}'`)
	}
	p, err := programs.Start(cmd.Context(), programs.Options{
		Command: process.Command{Argv: argv, Env: os.Environ()}, Stderr: cmd.ErrOrStderr(),
		Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)),
	})
	if err != nil {
		return err
	}
	defer p.Close()
	return offer(cmd, c, raw, p, p.Done(), p.Err)
}

// offer registers a service and keeps it until the command is interrupted or over
// is closed. Each id it gets is printed.
func offer(cmd *cobra.Command, c *client.Client, metadata any, h client.Handler, over <-chan struct{}, why func() error) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	r, err := c.Register(ctx, metadata, h)
	if err != nil {
		return err
	}
	defer r.Close()
	var told sync.WaitGroup
	told.Go(func() { tellStatus(ctx, c, cmd.ErrOrStderr()) })
	told.Go(func() { tellIDs(ctx, cmd, r) })
	select {
	case <-over:
		err = why()
	case <-ctx.Done():
	}
	stop()
	told.Wait()
	return err
}

// tellIDs prints the ids of a service, and why it has none.
func tellIDs(ctx context.Context, cmd *cobra.Command, r *client.Registration) {
	var times uint64
	for s := range r.Updates(ctx) {
		switch {
		case s.ID != "" && s.Times != times:
			times = s.Times
			fmt.Fprintln(cmd.OutOrStdout(), s.ID)
		case s.Err != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "the host does not take the service: %v; trying again\n", s.Err)
		}
	}
}

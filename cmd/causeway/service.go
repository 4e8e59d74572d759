package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
)

const serviceLong = `Clients of a host can offer services to each other: a program that reads Git
objects, a linter, a clipboard. Others find a service by what it says of itself,
call it and wait for the answer, or notify it and wait for nothing.

SERVICE is an id as 'causeway service list' shows it, or what the service says of
itself: protocol=git-object-reader, or several such pairs with commas between.`

// newService is the command with everything about client services.
func newService() *cobra.Command {
	cmd := &cobra.Command{
		Use: "service", Short: "List, watch, call, notify and offer services of clients", GroupID: groupClient,
		Long: serviceLong,
		Args: args(noSuchCommand), RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Example: `  causeway service list
  causeway service git --repo .
  causeway service call protocol=git-object-reader getRefs
  causeway service serve --metadata '{"protocol":"length"}' -- jq -c --unbuffered '{id, result: (.params | length)}'`,
	}
	cmd.AddCommand(newServiceList(), newServiceWatch(), newServiceCall(), newServiceNotify(), newServiceServe(), newServiceGit())
	return cmd
}

func newServiceList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the services of a host",
		Long: "Lists the services that clients of a host offer and this one may see, the oldest first.",
		Args: args(cobra.NoArgs), RunE: withServices(listServices),
	}
	addURLFlag(cmd)
	cmd.Flags().Bool("json", false, "print each service as JSON, one a line")
	return cmd
}

// withServices gives a command a connection to its host.
func withServices(run func(cmd *cobra.Command, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		url, err := resolveURL(cmd)
		if err != nil {
			return err
		}
		c, err := connect(cmd.Context(), url)
		if err != nil {
			return err
		}
		defer c.Close()
		return run(cmd, c, args)
	}
}

func listServices(cmd *cobra.Command, c *client.Client, _ []string) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	list, err := c.Services(cmd.Context())
	if err != nil {
		return err
	}
	defer list.Close()
	items := list.Items()
	if asJSON {
		return printServices(cmd.OutOrStdout(), items)
	}
	if len(items) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "no services; 'causeway service git' and 'causeway service serve' offer one")
		return nil
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SERVICE\tCLIENT\tMETADATA")
	for _, s := range items {
		fmt.Fprintf(table, "%s\t%s\t%s\n", oneLine(s.ServiceID, 64), oneLine(s.ClientID, 36), oneLine(string(s.Metadata), 100))
	}
	return table.Flush()
}

func printServices(w io.Writer, items []ahp.ClientService) error {
	for _, s := range items {
		if err := printJSON(w, s); err != nil {
			return err
		}
	}
	return nil
}

func newServiceWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch", Short: "Follow which services come and go",
		Long: `Shows the services of a host and then each that comes or goes, until it is
interrupted. After a lost connection it shows them anew.`,
		Args: args(cobra.NoArgs), RunE: withServices(watchServices),
	}
	addURLFlag(cmd)
	cmd.Flags().Bool("json", false, "print snapshots and action envelopes, one a line")
	return cmd
}

func watchServices(cmd *cobra.Command, c *client.Client, _ []string) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	list, err := c.Services(ctx)
	if err != nil {
		return err
	}
	told := make(chan struct{})
	go func() { defer close(told); tellStatus(ctx, c, cmd.ErrOrStderr()) }()
	defer func() { stop(); <-told }()
	out := serviceFeed{w: cmd.OutOrStdout(), style: styleOf(cmd.OutOrStdout()), json: asJSON}
	for u, err := range list.Updates(ctx) {
		if err == nil {
			err = out.tell(u)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// serviceFeed prints the changes of the catalogue.
type serviceFeed struct {
	w     io.Writer
	style style
	json  bool
}

func (f *serviceFeed) tell(u client.ServiceUpdate) error {
	switch {
	case f.json && u.Envelope != nil:
		_, err := fmt.Fprintf(f.w, "%s\n", u.Envelope)
		return err
	case f.json:
		state, err := ahp.Marshal(ahp.ClientServicesState{Services: u.Services})
		if err != nil {
			return err
		}
		return printJSON(f.w, ahp.Snapshot{Resource: ahp.ClientServicesURI, State: state, FromSeq: u.ServerSeq})
	case u.Kind == client.ServicesListed:
		for _, s := range u.Services {
			f.line(" ", s)
		}
		fmt.Fprintln(f.w, f.style.dim(fmt.Sprintf("%s  %d services", time.Now().Format(time.TimeOnly), len(u.Services))))
	case u.Kind == client.ServiceSet:
		f.line(f.style.green("+"), u.Service)
	default:
		f.line(f.style.red("-"), u.Service)
	}
	return nil
}

func (f *serviceFeed) line(mark string, s ahp.ClientService) {
	fmt.Fprintf(f.w, "%s %s  %s  %s\n", mark, oneLine(s.ServiceID, 64), f.style.dim(oneLine(s.ClientID, 36)), oneLine(string(s.Metadata), 200))
}

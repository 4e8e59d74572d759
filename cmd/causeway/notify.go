package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/spf13/cobra"
)

const notifyLong = `Tool-call notifications tell a webhook how a tool call ended, although nobody was
connected. A host and gateways ('causeway mcp') keep them in notify.db of the
state directory, until they are delivered or stand as dead letters. These
commands look into it and act on it, with or without a host running.

Endpoints are shown without their query, bodies as they were sent, after
masking. Signing keys are shown by 'causeway notify secret' alone.`

const notifyExample = `  causeway notify test http://127.0.0.1:9000/hook   send a signed message now
  causeway notify list                             what was sent, what waits
  causeway notify dead                             what could not be delivered
  causeway notify redeliver --all                  try those again`

func newNotify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Short: "Look at notifications of tool calls, and deliver them again", GroupID: groupHost,
		Long: notifyLong, Example: notifyExample,
		Args: args(noSuchCommand),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().Bool("json", false, "print objects, one a line")
	cmd.AddCommand(newNotifyList(), newNotifyShow(), newNotifyDead(), newNotifyRedeliver(), newNotifyTest(), newNotifyEndpoints(), newNotifySecret())
	return cmd
}

// withDesk runs a command on an existing notify.db. Without one there is nothing
// to look at, and none is made.
func withDesk(cmd *cobra.Command, fn func(context.Context, *notifier) error) (err error) {
	dir, err := dataDir(cmd)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir.Path(), "notify.db")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there are no notifications in %s; 'causeway notify test URL' sends the first", dir.Path())
	}
	n, err := openStore(cmd.Context(), dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(cmd.Context())) }()
	return fn(cmd.Context(), n)
}

func newNotifyList() *cobra.Command {
	var q notify.ItemQuery
	cmd := &cobra.Command{
		Use: "list", Short: "List notifications, the latest first", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return listItems(cmd, q, "no notifications yet") },
	}
	cmd.Flags().StringVar(&q.State, "state", "", "only those in a `state`: pending, waiting, delivered, dead, folded, lost")
	cmd.Flags().StringVar(&q.CallID, "call", "", "only those of a `call` (tc_…)")
	cmd.Flags().StringVar(&q.Endpoint, "endpoint", "", "only those of an `endpoint` (ep_…)")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "at most so many")
	return cmd
}

func newNotifyDead() *cobra.Command {
	var q notify.ItemQuery
	var purge bool
	cmd := &cobra.Command{
		Use: "dead", Short: "List what could not be delivered, and why", Args: args(cobra.NoArgs),
		Long: `Lists the dead letters: notifications that ran out of attempts (exhausted), were
refused for good (permanent, disabled, aborted), or had nowhere to go (no_route).
They are kept for 30 days.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.State = "dead"
			if !purge {
				return listItems(cmd, q, "no dead letters")
			}
			return withDesk(cmd, func(ctx context.Context, n *notifier) error {
				removed, err := n.desk.Purge(ctx, q)
				if err == nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "removed %d dead letters\n", removed)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&q.Endpoint, "endpoint", "", "only those of an `endpoint` (ep_…)")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "at most so many")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove them instead of listing them")
	return cmd
}

func listItems(cmd *cobra.Command, q notify.ItemQuery, none string) error {
	return withDesk(cmd, func(ctx context.Context, n *notifier) error {
		items, err := n.desk.Items(ctx, q)
		if err != nil {
			return err
		}
		asJSON, err := cmd.Flags().GetBool("json")
		if err != nil {
			return err
		}
		if len(items) == 0 && !asJSON {
			fmt.Fprintln(cmd.ErrOrStderr(), none)
			return nil
		}
		return printItems(cmd.OutOrStdout(), items, asJSON)
	})
}

func newNotifyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a notification with its attempts and body, or a call with its result",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			return withDesk(cmd, func(ctx context.Context, n *notifier) error {
				if strings.HasPrefix(names[0], "tc_") {
					return showCall(ctx, cmd, n, names[0])
				}
				return showItem(ctx, cmd, n, names[0])
			})
		},
	}
}

func showItem(ctx context.Context, cmd *cobra.Command, n *notifier, id string) error {
	d, err := n.desk.Item(ctx, id)
	if errors.Is(err, notify.ErrNotFound) {
		return fmt.Errorf("there is no notification %s; 'causeway notify list' names them", id)
	}
	if err != nil {
		return err
	}
	if asJSON, err := cmd.Flags().GetBool("json"); err != nil || asJSON {
		return errors.Join(err, printJSON(cmd.OutOrStdout(), d))
	}
	return printDetail(cmd.OutOrStdout(), d)
}

func showCall(ctx context.Context, cmd *cobra.Command, n *notifier, id string) error {
	s, err := n.desk.Call(ctx, "", id)
	if errors.Is(err, notify.ErrNotFound) {
		return fmt.Errorf("there is no call %s; calls are kept for a week", id)
	}
	if err != nil {
		return err
	}
	if asJSON, err := cmd.Flags().GetBool("json"); err != nil || asJSON {
		return errors.Join(err, printJSON(cmd.OutOrStdout(), s))
	}
	items, err := n.desk.Items(ctx, notify.ItemQuery{CallID: id})
	if err != nil {
		return err
	}
	return printCall(cmd.OutOrStdout(), s, items)
}

func newNotifyEndpoints() *cobra.Command {
	var disable, enable string
	cmd := &cobra.Command{
		Use: "endpoints", Short: "List endpoints, disable one, or enable it again", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDesk(cmd, func(ctx context.Context, n *notifier) error {
				switch {
				case disable != "":
					return setEndpoint(ctx, n, disable, false)
				case enable != "":
					return setEndpoint(ctx, n, enable, true)
				}
				return listEndpoints(ctx, cmd, n)
			})
		},
	}
	cmd.Flags().StringVar(&disable, "disable", "", "send nothing more to an `endpoint` (ep_…); what waits for it becomes a dead letter")
	cmd.Flags().StringVar(&enable, "enable", "", "deliver to a disabled `endpoint` (ep_…) again")
	cmd.MarkFlagsMutuallyExclusive("disable", "enable")
	return cmd
}

func setEndpoint(ctx context.Context, n *notifier, id string, enabled bool) error {
	err := n.desk.SetEndpoint(ctx, id, enabled)
	if errors.Is(err, notify.ErrNotFound) {
		return fmt.Errorf("there is no endpoint %s; 'causeway notify endpoints' names them", id)
	}
	return err
}

func listEndpoints(ctx context.Context, cmd *cobra.Command, n *notifier) error {
	list, err := n.desk.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if len(list) == 0 && !asJSON {
		fmt.Fprintln(cmd.ErrOrStderr(), "no endpoints yet")
		return nil
	}
	return printEndpoints(cmd.OutOrStdout(), list, asJSON)
}

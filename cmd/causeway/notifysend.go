package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// sendWait is how long test and redeliver wait for an attempt to come back.
const sendWait = 30 * time.Second

// localPrincipal is who uses this machine's data directory.
const localPrincipal = "local"

func newNotifyRedeliver() *cobra.Command {
	var q notify.ItemQuery
	var all bool
	var route string
	var since time.Duration
	cmd := &cobra.Command{
		Use: "redeliver [ID...]", Short: "Send notifications again, with the id and body they had",
		Long: `Sends notifications again, dead or delivered: same id, same body, a new timestamp
and signature, a fresh schedule of attempts. It waits for the first attempt of
each and exits with 1 if one failed; what failed is tried further by the host or
gateway that runs on the directory.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return usagef("name notifications, or use --all for every dead letter")
			}
			if since > 0 {
				q.Since = time.Now().Add(-since)
			}
			return withDesk(cmd, func(ctx context.Context, n *notifier) error {
				return redeliver(ctx, cmd, n, names, route, q)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every dead letter that has somewhere to go")
	cmd.Flags().StringVar(&q.Endpoint, "endpoint", "", "with --all: only those of an `endpoint` (ep_…)")
	cmd.Flags().DurationVar(&since, "since", 0, "with --all: only those fired within a `time` such as 24h")
	cmd.Flags().StringVar(&route, "route", "", "send on another accepted `route` of the call")
	return cmd
}

func redeliver(ctx context.Context, cmd *cobra.Command, n *notifier, names []string, route string, q notify.ItemQuery) error {
	before := make(map[string]int)
	if len(names) == 0 {
		ids, err := n.desk.RedeliverAll(ctx, q)
		if err != nil {
			return err
		}
		names = ids
		if len(names) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "no dead letters to send")
			return nil
		}
	} else {
		for _, id := range names {
			d, err := n.desk.Item(ctx, id)
			if errors.Is(err, notify.ErrNotFound) {
				return fmt.Errorf("there is no notification %s; 'causeway notify list' names them", id)
			}
			if err == nil {
				err = n.desk.Redeliver(ctx, id, route)
			}
			if err != nil {
				return err
			}
			before[id] = d.Attempts
		}
	}
	return deliverNow(ctx, cmd, n, names)
}

// deliverNow runs an engine until each notification had an attempt, and prints
// what came of it.
func deliverNow(ctx context.Context, cmd *cobra.Command, n *notifier, names []string) (err error) {
	start := time.Now()
	if n.engine == nil {
		dir, err := dataDir(cmd)
		if err != nil {
			return err
		}
		m, err := openNotifier(ctx, dir, notifierOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.close(ctx)) }()
	}
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	failed := 0
	for _, id := range names {
		d, err := attempted(ctx, n.desk, id, start)
		if err != nil {
			return err
		}
		if d.State != "delivered" {
			failed++
		}
		if asJSON {
			err = printJSON(cmd.OutOrStdout(), d.Item)
		} else {
			err = printAttempt(cmd.OutOrStdout(), d)
		}
		if err != nil {
			return err
		}
	}
	if failed > 0 {
		return exitError(exitFailed)
	}
	return nil
}

// attempted waits until a notification had an attempt since start, or has come
// to its end.
func attempted(ctx context.Context, desk *notify.Desk, id string, start time.Time) (d notify.Detail, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sendWait, fmt.Errorf("no attempt was made within %v; 'causeway notify show %s' tells how it stands", sendWait, id))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if d, err = desk.Item(ctx, id); err == nil {
			tried := len(d.Tries) > 0 && !d.Tries[len(d.Tries)-1].Started.Before(start)
			if tried || d.State != "pending" && d.State != "waiting" {
				return d, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return d, context.Cause(ctx)
		}
	}
}

func printAttempt(w io.Writer, d notify.Detail) error {
	took := ""
	if n := len(d.Tries); n > 0 {
		a := d.Tries[n-1]
		took = fmt.Sprintf(" (%s, %d ms)", cmp.Or(a.Category, fmt.Sprint("status ", a.Status)), a.Millis)
	}
	state := d.State
	if d.State == "pending" {
		state = "not delivered, again " + until(d.DueAt)
	}
	_, err := fmt.Fprintf(w, "%s  %s  %s%s\n", d.ID, d.Endpoint, state, took)
	return err
}

func newNotifyTest() *cobra.Command {
	var ref string
	cmd := &cobra.Command{
		Use: "test URL", Short: "Send a signed test notification to a webhook now",
		Long: `Sends a notification to a URL, signed as every other one, and prints what came of
it. That you name the URL here allows it, also on this machine. The key it is
signed with is the endpoint's own; 'causeway notify secret' shows it.`,
		Example: "  causeway notify test http://127.0.0.1:9000/hook",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			dir, err := openDataDir(cmd)
			if err != nil {
				return err
			}
			n, err := openNotifier(cmd.Context(), dir, notifierOptions{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, n.close(cmd.Context())) }()
			return sendTest(cmd.Context(), cmd, n, names[0], ref)
		},
	}
	cmd.Flags().StringVar(&ref, "secret", "", "sign with a key that was set under a `name` ('causeway notify secret --set')")
	return cmd
}

func sendTest(ctx context.Context, cmd *cobra.Command, n *notifier, url, ref string) error {
	type signing struct {
		Ref string `json:"secretRef"`
	}
	type options struct {
		Payload string   `json:"payload"`
		Signing *signing `json:"signing,omitzero"`
	}
	type route struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Endpoint string   `json:"endpoint"`
		Triggers []string `json:"triggers"`
		Options  options  `json:"options"`
	}
	r := route{ID: "test", Type: "webhook", Endpoint: url, Triggers: []string{"completed"}, Options: options{Payload: "full"}}
	if ref != "" {
		r.Options.Signing = &signing{ref}
	}
	raw, err := json.Marshal(map[string]any{"routes": []route{r}})
	if err != nil {
		return err
	}
	caller := notify.Caller{Principal: localPrincipal, Private: true, Trusted: true, Capability: true}
	config, err := n.engine.Check(raw, caller)
	if err != nil {
		return refusedURL(err)
	}
	call, err := n.engine.Admit(ctx, config, notify.Request{Caller: caller, RequestID: jsontext.Value(`"test"`), Tool: "causeway notify test"})
	if err != nil {
		return refusedURL(err)
	}
	report, err := call.Finish(ctx, notify.EndOfResult(jsontext.Value(`{"content":[{"type":"text","text":"A test of causeway. Nothing has happened."}]}`)))
	if err != nil {
		return err
	}
	err = deliverNow(ctx, cmd, n, report.Notifications)
	fmt.Fprintf(cmd.ErrOrStderr(), "signed with the key of this endpoint; 'causeway notify endpoints' lists it\n")
	return err
}

// refusedURL says what is wrong with a URL in the words of a person.
func refusedURL(err error) error {
	var bad *notify.ConfigError
	if !errors.As(err, &bad) || len(bad.Rejected) == 0 {
		return err
	}
	switch bad.Rejected[0].Reason {
	case notify.RouteInvalidEndpoint:
		return usagef("that is no URL a webhook can have: http or https, an ASCII host, no user, no fragment")
	case notify.RouteDisabled:
		return fmt.Errorf("the endpoint is disabled; 'causeway notify endpoints --enable ID' enables it")
	case notify.RouteUnknownSecret:
		return fmt.Errorf("there is no such signing key; 'causeway notify secret --set NAME' sets one (whsec_…)")
	}
	return err
}

func newNotifySecret() *cobra.Command {
	var set string
	var rotate bool
	cmd := &cobra.Command{
		Use: "secret [ENDPOINT]", Short: "Show or rotate an endpoint's signing key, or set a named secret",
		Long: `Prints the key (whsec_…) that notifications to an endpoint (ep_…) are signed with,
for the program that receives them. --rotate makes a new one; for 24 hours both
sign. --set NAME reads a secret from stdin, for routes that name it as
"secretRef": a signing key (whsec_…) or the value of a header.`,
		Example: `  causeway notify secret ep_…
  causeway notify secret ep_… --rotate
  printf %s "$KEY" | causeway notify secret --set hook-main`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			if (set != "") == (len(names) == 1) {
				return usagef("name an endpoint, or use --set NAME")
			}
			if set != "" {
				return setSecret(cmd, set)
			}
			return withDesk(cmd, func(ctx context.Context, n *notifier) error {
				return showSecret(ctx, cmd, n, names[0], rotate)
			})
		},
	}
	cmd.Flags().StringVar(&set, "set", "", "set the secret of a `name` from stdin")
	cmd.Flags().BoolVar(&rotate, "rotate", false, "replace the key first; the old one signs beside it for 24 hours")
	return cmd
}

func showSecret(ctx context.Context, cmd *cobra.Command, n *notifier, id string, rotate bool) error {
	list, err := n.desk.Endpoints(ctx, "")
	if err != nil {
		return err
	}
	principal, found := "", false
	for _, ep := range list {
		if ep.ID == id {
			principal, found = ep.Principal, true
		}
	}
	if !found {
		return fmt.Errorf("there is no endpoint %s; 'causeway notify endpoints' names them", id)
	}
	if rotate {
		if err := notify.RotateKey(ctx, n.secrets, principal, id, n.hook.NewKey()); err != nil {
			return err
		}
	}
	key, err := n.secrets.Get(ctx, principal, id)
	if errors.Is(err, notify.ErrNoSecret) {
		return fmt.Errorf("endpoint %s has no key of its own: its routes name theirs", id)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), key.Reveal())
	return err
}

func setSecret(cmd *cobra.Command, name string) error {
	if strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "" || len(name) > 64 {
		return usagef("a secret's name has at most 64 characters of A-Z a-z 0-9 . _ -")
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the secret: %w", err)
	}
	secret := strings.TrimRight(line, "\r\n")
	if secret == "" {
		return usagef("give the secret on stdin")
	}
	dir, err := openDataDir(cmd)
	if err != nil {
		return err
	}
	n, err := openStore(cmd.Context(), dir, nil)
	if err != nil {
		return err
	}
	return errors.Join(n.secrets.Put(cmd.Context(), localPrincipal, name, notify.NewSecret(secret)), n.close(cmd.Context()))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/notify"
	"github.com/causeway-ahp/causeway/notify/secretdir"
	"github.com/causeway-ahp/causeway/notify/sqlite"
	"github.com/causeway-ahp/causeway/notify/webhook"
	"github.com/prometheus/client_golang/prometheus"
)

// drainTimeout is how long attempts in flight are waited for at the end of a
// process.
const drainTimeout = 15 * time.Second

// notifier is the notification engine of this process on a data directory, with
// everything it stands on. Host, gateways and 'causeway notify' share notify.db.
type notifier struct {
	engine  *notify.Engine
	desk    *notify.Desk
	secrets *secretdir.Dir
	store   *sqlite.Store
	hook    *webhook.Webhook
}

// notifierOptions are what differs between the commands that have an engine.
type notifierOptions struct {
	allow   []string              // --allow-webhook
	log     *slog.Logger          // nil: none
	metrics prometheus.Registerer // nil: none
	limits  notify.Limits
	// requireCapability refuses configurations of MCP clients that did not declare
	// the capability.
	requireCapability bool
}

// openStore opens notify.db and the secrets beside it, without an engine.
func openStore(ctx context.Context, dir datadir.Dir, allow []string) (n *notifier, err error) {
	var o webhook.Options
	for _, prefix := range allow {
		rule, err := webhook.ParseRule(prefix)
		if err != nil {
			return nil, usagef("--allow-webhook: %w", err)
		}
		o.Allow = append(o.Allow, rule)
	}
	n = &notifier{hook: webhook.New(o)}
	if n.secrets, err = secretdir.Open(filepath.Join(dir.Path(), "notify-secrets")); err != nil {
		return nil, err
	}
	if n.store, err = sqlite.Open(ctx, filepath.Join(dir.Path(), "notify.db")); err != nil {
		return nil, err
	}
	n.desk = notify.NewDesk(n.store, n.hook)
	return n, nil
}

// openNotifier starts an engine on a data directory. It delivers also what other
// processes have left there.
func openNotifier(ctx context.Context, dir datadir.Dir, o notifierOptions) (*notifier, error) {
	n, err := openStore(ctx, dir, o.allow)
	if err != nil {
		return nil, err
	}
	n.engine, err = notify.New(context.WithoutCancel(ctx), notify.Options{
		Store: n.store, Secrets: n.secrets, Types: []notify.RouteType{n.hook}, Limits: o.limits, Log: o.log, Metrics: o.metrics,
		RequireCapability: o.requireCapability,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the notification engine: %w", err), n.close(ctx))
	}
	return n, nil
}

// close ends the engine in order: attempts in flight are waited for, what is due
// is left to the next process on the directory.
func (n *notifier) close(ctx context.Context) error {
	var err error
	if n.engine != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		err = n.engine.Shutdown(ctx)
	}
	n.hook.Close()
	return errors.Join(err, n.store.Close())
}

const (
	// attemptPoll is how often it is looked whether everything has been tried once.
	attemptPoll = 20 * time.Millisecond
	// gatewayAttempts and hostAttempts are how long a process that ends takes for that:
	// a gateway nobody waits for, a host somebody does.
	gatewayAttempts = 30 * time.Second
	hostAttempts    = 2 * time.Second
)

// attemptAll waits until what is due has been tried once, at most for d: a process that
// ends does not leave to the next one what it could have delivered. Retries are left.
func (n *notifier) attemptAll(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	defer cancel()
	tick := time.NewTicker(attemptPoll)
	defer tick.Stop()
	for n.untried(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// untried reports whether something due has not been tried. A store that cannot be
// read is not waited for.
func (n *notifier) untried(ctx context.Context) bool {
	items, err := n.desk.Items(ctx, notify.ItemQuery{State: "pending"})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(items, func(i notify.Item) bool { return i.Attempts == 0 && !i.DueAt.After(time.Now()) })
}

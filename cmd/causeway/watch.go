package main

import (
	"context"
	"errors"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
)

func newWatch() *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch [SESSION]", Short: "Follow what happens in every session, or in one", GroupID: groupClient,
		Long: `Follows every session of a host, or the one named, without taking part: sessions
that come and go, turns, tool calls with their output while they run, and how
they end. It goes on over lost connections until it is interrupted.`,
		Args: args(cobra.MaximumNArgs(1)), RunE: runWatch,
	}
	addURLFlag(cmd)
	cmd.Flags().Bool("json", false, "print session summaries and action envelopes, one a line")
	return cmd
}

func runWatch(cmd *cobra.Command, names []string) error {
	ctx := cmd.Context()
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	url, err := resolveURL(cmd)
	if err != nil {
		return err
	}
	c, err := connect(ctx, url)
	if err != nil {
		return err
	}
	w := &watcher{c: c, out: newTranscript(cmd.OutOrStdout(), asJSON), seen: make(map[ahp.URI]bool)}
	w.work.Go(func() { tellStatus(ctx, c, cmd.ErrOrStderr()) })
	if len(names) == 0 {
		err = w.sessions(ctx)
	} else if uri, bad := sessionURI(names[0]); bad != nil {
		err = bad
	} else {
		err = w.session(ctx, uri)
	}
	c.Close()
	w.work.Wait()
	return err
}

// watcher follows sessions and their chats, each on a goroutine of its own.
type watcher struct {
	c    *client.Client
	out  *transcript
	work sync.WaitGroup

	mu   sync.Mutex
	seen map[ahp.URI]bool // channels being followed
}

// follow runs work for a channel unless it is being followed already.
func (w *watcher) follow(uri ahp.URI, work func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[uri] {
		return
	}
	w.seen[uri] = true
	w.work.Go(func() {
		work()
		w.mu.Lock()
		delete(w.seen, uri)
		w.mu.Unlock()
	})
}

// sessions follows the list of sessions until ctx ends.
func (w *watcher) sessions(ctx context.Context) error {
	list, err := w.c.Sessions(ctx)
	if err != nil {
		return err
	}
	defer list.Close()
	for items, err := range list.Updates(ctx) {
		if err != nil {
			return err
		}
		w.out.list(items, list.Fresh())
		for _, s := range items {
			w.follow(s.Resource, func() { _ = w.session(ctx, s.Resource) })
		}
	}
	return ctx.Err()
}

// session follows one session and its chats until it is gone or ctx ends.
func (w *watcher) session(ctx context.Context, uri ahp.URI) error {
	s, err := w.c.Session(ctx, uri)
	if err != nil {
		return err
	}
	defer s.Close()
	for u, err := range s.Updates(ctx) {
		if errors.Is(err, client.ErrSlowReader) {
			continue
		}
		if err != nil {
			return err
		}
		state := u.State.(*ahp.SessionState)
		w.out.session(uri, state, u)
		for i := range state.Chats {
			chat := state.Chats[i].Resource
			w.follow(chat, func() { w.chat(ctx, uri, chat) })
		}
	}
	return nil
}

// chat follows one chat. What ended before the watch began is not told.
func (w *watcher) chat(ctx context.Context, session, uri ahp.URI) {
	chat, err := w.c.ChatView(ctx, uri, client.SubscribeOptions{Turns: 1})
	if err != nil {
		return // it has gone since
	}
	defer chat.Close()
	for u, err := range chat.Updates(ctx) {
		if errors.Is(err, client.ErrSlowReader) {
			continue
		}
		if err != nil {
			return
		}
		w.out.chat(session, uri, u)
	}
}

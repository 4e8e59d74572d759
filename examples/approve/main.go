// Command approve answers the tool calls of every session by a rule: it approves
// those whose input begins with one of the prefixes, and leaves the others to
// somebody else.
//
//	approve ws://127.0.0.1:7433/?tkn=TOKEN 'go test' 'go vet'
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: approve URL PREFIX...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := approve(ctx, os.Args[1], os.Args[2:]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "approve:", err)
		os.Exit(1)
	}
}

// approve follows the list of sessions: a session that waits shows in its status.
func approve(ctx context.Context, url string, prefixes []string) error {
	c, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	defer list.Close()
	for sessions, err := range list.Updates(ctx) {
		if err != nil {
			return err
		}
		for _, s := range sessions {
			if s.Status.Has(ahp.StatusInputNeeded) {
				if err := answer(ctx, c, s.Resource, prefixes); err != nil {
					fmt.Fprintln(os.Stderr, s.Title+":", err)
				}
			}
		}
	}
	return nil
}

// answer decides about the calls a session waits with. Somebody else may have
// been faster: the first answer wins, and ours is then refused.
func answer(ctx context.Context, c *client.Client, session ahp.URI, prefixes []string) error {
	s, err := c.Session(ctx, session)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, chat := range s.State().Chats {
		if err := answerChat(ctx, c, chat.Resource, prefixes); err != nil {
			return err
		}
	}
	return nil
}

func answerChat(ctx context.Context, c *client.Client, uri ahp.URI, prefixes []string) error {
	chat, err := c.ChatView(ctx, uri, client.SubscribeOptions{Turns: 1})
	if err != nil {
		return err
	}
	defer chat.Close()
	for _, call := range chat.WaitingCalls() {
		if !allowed(call, prefixes) {
			continue
		}
		d, err := chat.Confirm(call.ToolCallID, true, client.ConfirmOptions{})
		if err != nil {
			return err
		}
		if err := d.Wait(ctx); err != nil {
			return err
		}
		fmt.Println("approved:", call.ToolInput.Text)
	}
	return nil
}

func allowed(call *ahp.ToolCall, prefixes []string) bool {
	if call.ToolInput == nil {
		return false
	}
	for _, p := range prefixes {
		if call.ToolInput.Text == p || strings.HasPrefix(call.ToolInput.Text, p+" ") {
			return true
		}
	}
	return false
}

// Command approve decides about the tool calls of a chat by a rule: tools that
// are named may run, everything else is denied.
//
//	approve ws://127.0.0.1:7433/?tkn=… ahp-chat:/… read grep
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: approve URL CHAT [TOOL ...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := approve(ctx, os.Args[1], os.Args[2], os.Args[3:]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "approve:", err)
		os.Exit(1)
	}
}

func approve(ctx context.Context, url string, uri ahp.URI, tools []string) error {
	c, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	chat, err := c.Chat(ctx, uri)
	if err != nil {
		return err
	}
	for _, err := range chat.Updates(ctx) {
		if err != nil && !errors.Is(err, client.ErrSlowReader) {
			return err
		}
		for _, call := range chat.WaitingCalls() {
			decide(ctx, chat, call, slices.Contains(tools, call.ToolName))
		}
	}
	return nil
}

// decide answers one call. The optimistic state has the answer at once, so no
// call is met twice; another client may have been faster, which is no error.
func decide(ctx context.Context, chat *client.Chat, call *ahp.ToolCall, yes bool) {
	d, err := chat.Confirm(call.ToolCallID, yes, client.ConfirmOptions{})
	if err == nil {
		err = d.Wait(ctx)
	}
	fmt.Printf("%s: approved %v: %s\n", call.ToolName, yes, outcome(err))
}

func outcome(err error) string {
	var rejected *client.RejectedError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &rejected), errors.Is(err, client.ErrNotWaiting):
		return "somebody was faster"
	}
	return err.Error()
}

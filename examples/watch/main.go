// Command watch prints what happens in a chat, as it happens:
//
//	watch ws://127.0.0.1:7433/?tkn=… ahp-chat:/…
//
// It survives restarts of the network and of the host.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: watch URL CHAT")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := watch(ctx, os.Args[1], os.Args[2]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

func watch(ctx context.Context, url string, uri ahp.URI) error {
	c, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	chat, err := c.Chat(ctx, uri)
	if err != nil {
		return err
	}
	for u, err := range chat.Updates(ctx) {
		if errors.Is(err, client.ErrSlowReader) {
			continue // a snapshot comes next
		}
		if err != nil {
			return err
		}
		show(u)
	}
	return nil
}

func show(u client.Update) {
	switch a := u.Action.(type) {
	case nil:
		fmt.Printf("-- %d turns so far\n", u.State.(*ahp.ChatState).Turns.Len())
	case *ahp.ChatTurnStarted:
		if u.Kind != client.Confirmed && a.Message != nil { // own ones were shown as pending
			fmt.Printf("> %s\n", a.Message.Text)
		}
	case *ahp.ChatResponsePart: // a part may begin with its first words
		if m, ok := a.Part.Part.(*ahp.MarkdownPart); ok {
			fmt.Print(m.Content.String())
		}
	case *ahp.ChatDelta:
		fmt.Print(a.Content)
	case *ahp.ChatTurnComplete, *ahp.ChatTurnCancelled, *ahp.ChatError:
		fmt.Printf("\n-- %s\n", a.ActionType())
	}
}

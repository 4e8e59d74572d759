// Command watch prints what happens in one session: each change of its default
// chat, as it comes, over lost connections as well.
//
//	watch ws://127.0.0.1:7433/?tkn=TOKEN ahp-session:/ID
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
		fmt.Fprintln(os.Stderr, "usage: watch URL SESSION")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := watch(ctx, os.Args[1], os.Args[2]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

func watch(ctx context.Context, url string, session ahp.URI) error {
	c, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := c.Session(ctx, session)
	if err != nil {
		return err
	}
	chat, err := s.DefaultChat(ctx)
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
		tell(u)
	}
	return nil
}

func tell(u client.Update) {
	state := u.State.(*ahp.ChatState)
	switch a := u.Action.(type) {
	case nil:
		fmt.Printf("%d turns so far\n", state.Turns.Len())
	case *ahp.ChatTurnStarted:
		fmt.Printf("> %s\n", a.Message.Text)
	case *ahp.ChatDelta:
		fmt.Print(a.Content)
	case *ahp.ChatTurnComplete:
		fmt.Printf("\ncomplete after %v ms\n", a.Duration)
	default:
		fmt.Println(a.ActionType())
	}
}

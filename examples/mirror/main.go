// Command mirror keeps a file that holds the confirmed state of a session's
// default chat, as JSON. The file is replaced as a whole, at most once a second,
// and is right again after any loss of the connection.
//
//	mirror ws://127.0.0.1:7433/?tkn=TOKEN ahp-session:/ID chat.json
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mirror URL SESSION FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := mirror(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "mirror:", err)
		os.Exit(1)
	}
}

func mirror(ctx context.Context, url string, session ahp.URI, file string) error {
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
	return follow(ctx, chat, file)
}

// follow writes the state whenever it differs from what was written, until ctx
// ends.
func follow(ctx context.Context, chat *client.Chat, file string) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var written any
	for {
		if state := chat.Confirmed(); state != written {
			if err := replace(file, state); err != nil {
				return err
			}
			written = state
		}
		select {
		case <-tick.C:
		case <-chat.Done():
			return chat.Err()
		case <-ctx.Done():
			return nil
		}
	}
}

// replace writes a file whole: a reader sees the old state or the new one.
func replace(file string, state any) error {
	raw, err := ahp.Marshal(state)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(raw, '\n'))
	if err = errors.Join(err, tmp.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return os.Rename(tmp.Name(), file)
}

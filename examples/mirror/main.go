// Command mirror keeps a copy of a session in a file, as JSON, current while it
// runs:
//
//	mirror ws://127.0.0.1:7433/?tkn=… ahp-session:/… session.json
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

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
	if err := mirror(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "mirror:", err)
		os.Exit(1)
	}
}

func mirror(ctx context.Context, url string, uri ahp.URI, file string) error {
	c, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	session, err := c.Session(ctx, uri)
	if err != nil {
		return err
	}
	for u, err := range session.Updates(ctx) {
		if errors.Is(err, client.ErrSlowReader) {
			continue // a snapshot comes next
		}
		if err != nil {
			return err
		}
		if u.Kind == client.Pending {
			continue // the host has not decided
		}
		if err := save(file, session.Confirmed()); err != nil {
			return err
		}
		fmt.Println("saved at", u.ServerSeq)
	}
	return nil
}

// save replaces the file as a whole, so that its readers never see half a state.
func save(file string, state any) error {
	raw, err := ahp.Marshal(state)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".mirror-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(raw)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

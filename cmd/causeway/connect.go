package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
)

// connect dials a host as the program it is.
func connect(ctx context.Context, url string) (*client.Client, error) {
	return connectWith(ctx, url, client.Options{})
}

func connectWith(ctx context.Context, url string, o client.Options) (*client.Client, error) {
	v := thisBuild().Version
	o.Info = &ahp.Implementation{Name: "causeway", Version: &v}
	c, err := client.Dial(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("connect to the host: %w", err)
	}
	return c, nil
}

// tellStatus says on w when the connection is lost and when it is back, until the
// client ends.
func tellStatus(ctx context.Context, c *client.Client, w io.Writer) {
	var lost time.Time // zero while connected
	for s := range c.Statuses(ctx) {
		switch s.State {
		case client.Reconnecting:
			if lost.IsZero() {
				fmt.Fprintf(w, "connection lost, reconnecting (%v)\n", s.Err)
			}
			lost = s.Since
		case client.Live:
			if !lost.IsZero() {
				fmt.Fprintf(w, "connected again after %s\n", s.Since.Sub(lost).Round(time.Millisecond))
			}
			lost = time.Time{}
		case client.GivenUp:
			fmt.Fprintf(w, "connection given up: %v\n", s.Err)
		}
	}
}

// sessionURI accepts a session's URI, or only its id.
func sessionURI(arg string) (ahp.URI, error) {
	uri := arg
	if ahp.KindOf(uri) != ahp.KindSession {
		uri = ahp.SessionPrefix + arg
	}
	if ahp.KindOf(uri) != ahp.KindSession || len(uri) == len(ahp.SessionPrefix) {
		return "", usagef("%q is not a session; 'causeway sessions' lists them", arg)
	}
	return uri, nil
}

// fileURI is the URI of a directory of this machine.
func fileURI(path string) (ahp.URI, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", Path: abs}).String(), nil
}

// workingDirectory is where a new session works: --cwd, else here, else what a
// host elsewhere has as its default.
func workingDirectory(cmd *cobra.Command) ([]ahp.URI, error) {
	path, err := cmd.Flags().GetString("cwd")
	if err != nil {
		return nil, err
	}
	if path == "" {
		if named, err := namedURL(cmd); named != "" || err != nil {
			return nil, err
		}
		if path, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	uri, err := fileURI(path)
	return []ahp.URI{uri}, err
}

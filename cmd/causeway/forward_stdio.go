package main

import (
	"context"
	"errors"
	"io"

	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
)

// forwardStdio carries one connection over standard input and output.
func forwardStdio(cmd *cobra.Command, destination string) error {
	host, port, err := parseDestination(destination)
	if err != nil {
		return usagef("--stdio %q: %w", destination, err)
	}
	url, err := resolveURL(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	c, err := connectTCP(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	far, err := c.DialTCP(ctx, host, port, client.TCPOptions{})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.New(dialTrouble(joinPort(host, port), err))
	}
	defer context.AfterFunc(ctx, far.Abort)()
	err = carryStdio(far, cmd.InOrStdin(), cmd.OutOrStdout())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// carryStdio carries a connection until both directions have ended, or it breaks.
func carryStdio(far *client.TCPConn, in io.Reader, out io.Writer) error {
	sent := make(chan error, 1)
	// It ends with the process at the latest: a read of standard input cannot
	// be called back.
	go sendStdin(far, in, sent)
	if _, err := far.WriteTo(out); err != nil {
		far.Abort()
		return err
	}
	if c, ok := out.(io.Closer); ok {
		_ = c.Close() // whoever reads it sees the end
	}
	select {
	case err := <-sent:
		_ = far.Close()
		return err
	case <-far.Done():
		return far.CloseWrite() // says why
	}
}

func sendStdin(far *client.TCPConn, in io.Reader, sent chan<- error) {
	_, err := far.ReadFrom(in)
	if err == nil {
		err = far.CloseWrite()
	} else {
		far.Abort() // what was not sent must not be taken for the end
	}
	sent <- err
}

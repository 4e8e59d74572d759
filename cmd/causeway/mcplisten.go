package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/causeway-ahp/causeway/mcp"
	"github.com/spf13/cobra"
)

// listenMCP serves streamable HTTP before another server until the command is told
// to end.
func listenMCP(cmd *cobra.Command, o *mcpOptions) (err error) {
	ctx := cmd.Context()
	log := o.logger(cmd.ErrOrStderr())
	n, err := o.notifier(cmd, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(ctx)) }()
	ln, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	life := context.WithoutCancel(ctx) // the end of ctx begins an orderly shutdown
	h := mcp.NewHandler(life, mcp.NewProxy(o.url, log), o.edge(n, o.url.Host, log))
	srv := &http.Server{Handler: mcp.OnlyLocal(h), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }() // Shutdown ends it
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "http://%s/mcp\n", ln.Addr()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	err = errors.Join(err, endListen(life, srv, h))
	n.attemptAll(ctx, hostAttempts) // somebody waits for the end
	return err
}

// endListen stops taking requests, lets accepted calls go on for a moment, and ends.
func endListen(ctx context.Context, srv *http.Server, h *mcp.Handler) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout/2)
	defer cancel()
	h.Shutdown(ctx)
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout/4)
	defer stop()
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close() // streams that clients hold open
	}
	return nil
}

// notifier opens the engine that both forms of the gateway stand on.
func (o *mcpOptions) notifier(cmd *cobra.Command, log *slog.Logger) (*notifier, error) {
	dir, err := openDataDir(cmd)
	if err != nil {
		return nil, err
	}
	return openNotifier(cmd.Context(), dir, notifierOptions{allow: o.allow, requireCapability: o.requireCap, log: log})
}

// edge are the options of both forms of the gateway.
func (o *mcpOptions) edge(n *notifier, server string, log *slog.Logger) mcp.Options {
	return mcp.Options{
		Engine: n.engine, Server: cmp.Or(o.name, filepath.Base(server)), Timeout: o.timeout, Log: log,
	}
}

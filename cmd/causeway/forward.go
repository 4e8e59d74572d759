package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/causeway-ahp/causeway/client"
	"github.com/spf13/cobra"
)

const forwardLong = `Carries TCP connections over the connection to the host: what connects to a port
of this machine is connected to a destination on the host's network, which the
host resolves and dials. A forward is written as for ssh -L, and -L is accepted:

  [bind:]port:host:hostport

Port 0 picks a free port. --stdio carries one connection over standard input and
output, like ssh -W. -D serves SOCKS 5: programs name their destinations
themselves, and the host resolves the names.

A host lets clients reach its own loopback only, unless it was started with
--allow-tcp. When the connection to the host is lost, connections end with a
reset, and new ones work as soon as it is back.`

const forwardExample = `  causeway forward 8080:localhost:3000            http://localhost:8080 is the host's port 3000
  causeway forward 5432:db.internal:5432 8080:localhost:80
  causeway forward -D 1080                        curl --socks5-hostname localhost:1080 …
  ssh -o ProxyCommand='causeway forward --stdio %h:%p' somebody@inside`

// forwardOptions are the flags of forward.
type forwardOptions struct {
	local []string
	socks []string
	stdio string
	json  bool
}

func newForward() *cobra.Command {
	var o forwardOptions
	cmd := &cobra.Command{
		Use: "forward [[bind:]port:host:hostport]...", Short: "Reach the host's network: TCP ports, SOCKS", GroupID: groupClient,
		Long: forwardLong, Example: forwardExample,
		Args: args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, specs []string) error { return runForward(cmd, specs, o) },
	}
	addURLFlag(cmd)
	f := cmd.Flags()
	f.StringArrayVarP(&o.local, "local", "L", nil, "a forward, `[bind:]port:host:hostport`; the same as an argument")
	f.StringArrayVarP(&o.socks, "socks", "D", nil, "serve SOCKS 5 on `[bind:]port`")
	f.StringVar(&o.stdio, "stdio", "", "one connection to `host:port` over standard input and output")
	f.BoolVar(&o.json, "json", false, "print what happens as JSON, one object a line")
	return cmd
}

func runForward(cmd *cobra.Command, words []string, o forwardOptions) error {
	specs, err := forwardSpecs(append(words, o.local...), o.socks)
	if err != nil {
		return err
	}
	switch {
	case o.stdio != "" && (len(specs) > 0 || o.json):
		return usagef("--stdio stands alone")
	case o.stdio != "":
		return forwardStdio(cmd, o.stdio)
	case len(specs) == 0:
		return usagef("nothing to forward; for example: causeway forward 8080:localhost:3000")
	}
	url, err := resolveURL(cmd)
	if err != nil {
		return err
	}
	listeners, err := listenAll(cmd.Context(), specs)
	if err != nil {
		return err
	}
	f := &forwarder{listeners: listeners, report: newForwardReport(cmd, o.json)}
	defer f.close()
	if f.c, err = connectTCP(cmd.Context(), url); err != nil {
		return err
	}
	return f.run(cmd.Context())
}

func forwardSpecs(local, socks []string) ([]forwardSpec, error) {
	var specs []forwardSpec
	for _, text := range local {
		s, err := parseForward(text)
		if err != nil {
			return nil, usagef("forward %q: %w", text, err)
		}
		specs = append(specs, s)
	}
	for _, text := range socks {
		s, err := parseSocks(text)
		if err != nil {
			return nil, usagef("-D %q: %w", text, err)
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// forwardListener is a local port that is open.
type forwardListener struct {
	net.Listener
	spec forwardSpec
}

// listenAll opens every port or none.
func listenAll(ctx context.Context, specs []forwardSpec) ([]forwardListener, error) {
	var open []forwardListener
	for _, s := range specs {
		var config net.ListenConfig
		ln, err := config.Listen(ctx, "tcp", s.bind)
		if err != nil {
			for _, l := range open {
				_ = l.Close()
			}
			return nil, listenError(s, err)
		}
		open = append(open, forwardListener{ln, s})
	}
	return open, nil
}

func listenError(s forwardSpec, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %s is taken: choose another local port, or end what listens there", s.bind)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("port %s is reserved: choose one above 1023", s.bind)
	}
	return fmt.Errorf("listen: %w", err)
}

var errNoForwarding = errors.New("this host does not forward TCP connections; a newer causeway does")

// connectTCP connects to a host that forwards TCP connections.
func connectTCP(ctx context.Context, url string) (*client.Client, error) {
	c, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	if !c.OffersTCP() {
		_ = c.Close()
		return nil, errNoForwarding
	}
	return c, nil
}

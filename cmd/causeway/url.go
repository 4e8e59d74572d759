package main

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/spf13/cobra"
)

// urlVariable is the environment variable that names a host.
const urlVariable = "CAUSEWAY_URL"

// addURLFlag gives a client command its --url.
func addURLFlag(cmd *cobra.Command) {
	cmd.Flags().String("url", "", "`URL` of the host to use, such as ws://127.0.0.1:7433/?tkn=TOKEN (default: $"+urlVariable+", else the local host)")
}

// resolveURL returns where a client command connects to: --url, CAUSEWAY_URL, or
// the local host of --data. The error says what to do when none runs.
func resolveURL(cmd *cobra.Command) (string, error) {
	if raw, err := namedURL(cmd); raw != "" || err != nil {
		return raw, err
	}
	dir, err := dataDir(cmd)
	if err != nil {
		return "", err
	}
	h, err := settledHost(cmd.Context(), dir)
	if errors.Is(err, datadir.ErrNoHost) {
		return "", errors.New("no host is running; start one with 'causeway serve', or name one with --url")
	}
	if err != nil {
		return "", err
	}
	return localURL(dir, h)
}

// resolveOrStart is resolveURL for a command that starts a local host in the
// background when none runs.
func resolveOrStart(cmd *cobra.Command) (string, error) {
	if raw, err := namedURL(cmd); raw != "" || err != nil {
		return raw, err
	}
	dir, err := openDataDir(cmd)
	if err != nil {
		return "", err
	}
	return startLocal(cmd.Context(), dir)
}

// namedURL returns the URL the user gave, "" if there is none.
func namedURL(cmd *cobra.Command) (string, error) {
	raw, err := cmd.Flags().GetString("url")
	if err != nil {
		return "", err
	}
	source := "--url"
	if raw == "" {
		raw, source = os.Getenv(urlVariable), urlVariable
	}
	if raw == "" {
		return "", nil
	}
	u, err := url.Parse(raw)
	if err != nil { // the error's own text would repeat a token
		return "", usagef("%s is not a URL", source)
	}
	switch u.Scheme {
	case "ws", "wss", "ws+unix":
		return raw, nil
	}
	return "", usagef("%s must begin with ws://, wss:// or ws+unix://", source)
}

// localURL is where a local host is reached: on its Unix socket, where no token
// is needed, else at its address.
func localURL(dir datadir.Dir, h datadir.Host) (string, error) {
	if h.Socket != "" {
		if _, err := os.Stat(h.Socket); err == nil {
			u := url.URL{Scheme: "ws+unix", Path: h.Socket}
			return u.String(), nil
		}
	}
	if h.NoToken {
		return publicURL(h.Address, h.Secure, ""), nil
	}
	token, err := dir.Token()
	if err != nil {
		return "", err
	}
	return publicURL(h.Address, h.Secure, token), nil
}

// publicURL is how a host at a bound address is reached from this machine.
func publicURL(address string, secure bool, token string) string {
	u := url.URL{Scheme: "ws", Host: reachable(address), Path: "/"}
	if secure {
		u.Scheme = "wss"
	}
	if token != "" {
		u.RawQuery = "tkn=" + url.QueryEscape(token)
	}
	return u.String()
}

// reachable replaces an address that means "every interface" by loopback.
func reachable(address string) string {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

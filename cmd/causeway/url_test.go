package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/spf13/cobra"
)

// clientCommand is a command with the flags a client command has.
func clientCommand(t *testing.T, flags ...string) *cobra.Command {
	t.Helper()
	cmd := &cobra.Command{}
	cmd.Flags().String("data", "", "")
	addURLFlag(cmd)
	if err := cmd.ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(testContext(t))
	return cmd
}

func TestNamedURL(t *testing.T) {
	const secret = "tkn=PLANTED"
	tests := []struct {
		name, flag, env, want string
		usage                 bool
	}{
		{name: "flag", flag: "ws://h:1/?" + secret, want: "ws://h:1/?" + secret},
		{name: "environment", env: "wss://h/?" + secret, want: "wss://h/?" + secret},
		{name: "flag over environment", flag: "ws://f/", env: "ws://e/", want: "ws://f/"},
		{name: "socket", flag: "ws+unix:///run/host.sock", want: "ws+unix:///run/host.sock"},
		{name: "other scheme", flag: "http://h/?" + secret, usage: true},
		{name: "no scheme", env: "h:7433/?" + secret, usage: true},
		{name: "no URL", flag: "ws://[/?" + secret, usage: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(urlVariable, tt.env)
			got, err := resolveURL(clientCommand(t, "--url", tt.flag, "--data", t.TempDir()))
			var usage *usageError
			if got != tt.want || errors.As(err, &usage) != tt.usage {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "PLANTED") {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
}

func TestURLOfTheLocalHost(t *testing.T) {
	t.Setenv(urlVariable, "")
	d := stateDir(t)
	cmd := clientCommand(t, "--data", d.Path())
	if _, err := resolveURL(cmd); err == nil || !strings.Contains(err.Error(), "causeway serve") {
		t.Errorf("without a host: %v, want what to do", err)
	}
	h := serveInside(t, d, serveOptions{})
	want := "ws+unix://" + h.Socket
	for name, resolve := range map[string]func(*cobra.Command) (string, error){"resolveURL": resolveURL, "resolveOrStart": resolveOrStart} {
		if got, err := resolve(cmd); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestLocalURLWithoutASocket(t *testing.T) {
	d := stateDir(t)
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		host datadir.Host
		want string
	}{
		{"address", datadir.Host{Address: "127.0.0.1:7"}, "ws://127.0.0.1:7/?tkn=" + token},
		{"socket has gone", datadir.Host{Address: "127.0.0.1:7", Socket: d.Path() + "/gone"}, "ws://127.0.0.1:7/?tkn=" + token},
		{"no token", datadir.Host{Address: "127.0.0.1:7", NoToken: true}, "ws://127.0.0.1:7/"},
		{"TLS", datadir.Host{Address: "127.0.0.1:7", Secure: true}, "wss://127.0.0.1:7/?tkn=" + token},
		{"every interface", datadir.Host{Address: "0.0.0.0:7"}, "ws://127.0.0.1:7/?tkn=" + token},
		{"every interface, IPv6", datadir.Host{Address: "[::]:7"}, "ws://127.0.0.1:7/?tkn=" + token},
		{"IPv6", datadir.Host{Address: "[::1]:7"}, "ws://[::1]:7/?tkn=" + token},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := localURL(d, tt.host); got != tt.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

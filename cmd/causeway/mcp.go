package main

import (
	"io"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/causeway-ahp/causeway/mcp"
	"github.com/spf13/cobra"
)

const mcpLong = `Serve the tools of an MCP server unchanged, and let callers say where the outcome of
a call must go. A call with notificationConfig is acknowledged before its tool runs;
its outcome reaches the webhook it names although the caller has gone by then, and
although this gateway is killed: what is due is in the state directory (--data), and
the next gateway or host there goes on with it.

With a command the gateway speaks MCP over stdin and stdout, and starts the server
for itself. With --listen and --upstream it serves streamable HTTP on a loopback
address. Which webhooks are allowed, beyond public https addresses that prove that
they want to be called, is said with --allow-webhook.`

const mcpExample = `  causeway mcp -- npx some-mcp-server
  causeway mcp --allow-webhook http://127.0.0.1:9000/ -- npx some-mcp-server
  causeway mcp --listen 127.0.0.1:8931 --upstream https://example.com/mcp
  causeway notify list                             what became of the notifications`

// mcpOptions are the flags of mcp.
type mcpOptions struct {
	listen     string
	upstream   string
	name       string
	allow      []string
	linger     time.Duration
	timeout    time.Duration
	requireCap bool
	logLevel   string
	keeper     bool // this process outlives the one the client started

	level slog.Level
	url   *url.URL
}

func newMCP() *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use: "mcp [flags] -- COMMAND...", Short: "Add notifications to an MCP server", GroupID: groupOther,
		Long: mcpLong, Example: mcpExample,
		RunE: func(cmd *cobra.Command, words []string) error { return runMCP(cmd, &o, words) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.StringVar(&o.listen, "listen", "", "serve streamable HTTP on this loopback `address`")
	f.StringVar(&o.upstream, "upstream", "", "`URL` of the server behind --listen")
	f.StringVar(&o.name, "name", "", "`name` of the server in notifications (default: the command or the URL's host)")
	f.StringArrayVar(&o.allow, "allow-webhook", nil, "`URL` prefix webhooks may have, whatever its scheme and address; repeatable")
	f.DurationVar(&o.linger, "linger", mcp.DefaultLinger, "how long calls with notifications go on after the client has left")
	f.DurationVar(&o.timeout, "timeout", 0, "longest time for a call with notifications (default: a day)")
	f.BoolVar(&o.requireCap, "require-capability", false, "refuse notificationConfig of clients that do not declare the capability")
	f.StringVar(&o.logLevel, "log-level", "warn", "`level`: debug, info, warn or error")
	f.BoolVar(&o.keeper, "keeper", false, "")
	f.Lookup("keeper").Hidden = true // what the command starts, not what a person types
	return cmd
}

func runMCP(cmd *cobra.Command, o *mcpOptions, command []string) error {
	if err := o.check(command); err != nil {
		return err
	}
	switch {
	case o.listen != "":
		return listenMCP(cmd, o)
	case !o.keeper:
		return frontMCP(cmd, command)
	}
	return keepMCP(cmd, o, command)
}

// check finds what makes no sense before anything is started.
func (o *mcpOptions) check(command []string) error {
	switch {
	case (o.listen == "") != (o.upstream == ""):
		return usagef("--listen and --upstream belong together")
	case o.listen == "" && len(command) == 0:
		return usagef("name the server to start after --, or use --listen and --upstream")
	case o.listen != "" && len(command) > 0:
		return usagef("a command and --upstream do not go together")
	case o.linger < 0 || o.timeout < 0:
		return usagef("--linger and --timeout must not be negative")
	}
	if err := o.level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return usagef("--log-level %q is none of debug, info, warn, error", o.logLevel)
	}
	if o.listen == "" {
		return nil
	}
	return o.checkListen()
}

func (o *mcpOptions) checkListen() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usagef("--listen %q is not of the form host:port", o.listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--listen must be a loopback address such as 127.0.0.1:8931: the gateway does not ask who calls")
	}
	o.url, err = url.Parse(o.upstream)
	if err != nil || o.url.Host == "" || o.url.Scheme != "http" && o.url.Scheme != "https" {
		return usagef("--upstream %q is not an http or https URL", o.upstream)
	}
	return nil
}

func (o *mcpOptions) logger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: o.level}))
}

package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/spf13/cobra"
)

const serveLong = `Run a host in this terminal until Ctrl-C or 'causeway stop'.

When it is ready it prints READY:<port> and then the URL clients connect to. The
URL holds the token of the state directory, which is the same after a restart.
Clients of this machine and user also find the host by itself, through a Unix
socket in the state directory. Logs go to stderr.

Who may connect: a client with the token, a named token ('causeway token') or a
client certificate; on the Unix socket, this user. Web pages may not, unless
their origin is allowed, and neither may anybody who reaches the host under a
name it does not know.

'causeway serve --limit help' lists every limit with its default and what happens at
it, as docs/LIMITS.md does.`

const serveExample = `  causeway serve
  causeway serve --listen 127.0.0.1:0              any free port
  causeway serve --listen 0.0.0.0:7433 --tls-cert c.pem --tls-key k.pem
  causeway serve --agent claude='npx -y @agentclientprotocol/claude-agent-acp'
  causeway serve --allow-origin https://app.example
  causeway serve --policy policy.yaml              who may see, notify and call whose services
  causeway serve --allow-tcp db.internal:5432 --allow-tcp '10.0.0.0/8:*'
  causeway serve --limit outbox-bytes=64MiB --limit handshake-timeout=10s
  causeway serve --config serve.yaml               listen: 127.0.0.1:8000`

// defaultAutoExit is how long a background host stays when nobody needs it.
const defaultAutoExit = 10 * time.Minute

// serveOptions are the flags of serve.
type serveOptions struct {
	listen        string
	cwd           string
	noToken       bool
	tokens        string
	policy        string
	allowOrigins  []string
	allowHosts    []string
	allowWebhooks []string
	allowTCP      []string
	tlsCert       string
	tlsKey        string
	tlsClientCA   string
	logLevel      string
	logFormat     string
	pprof         bool
	wireLog       string
	config        string
	limits        limitOptions
	autoExit      time.Duration // 0: stays
	agents        agentOptions
	store         storeOptions

	level    slog.Level // logLevel, parsed by check
	tcpRules tcp.Rules  // allowTCP, parsed by check
}

func newServe() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run a host",
		Long:    serveLong,
		Example: serveExample,
		GroupID: groupHost,
		Args:    args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServe(cmd, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7433", "`address` to listen on; port 0 takes a free one")
	f.StringVar(&o.cwd, "cwd", "", "`directory` where clients begin to browse, and sessions that name no directory run (default: here)")
	f.BoolVar(&o.noToken, "no-token", false, "let every program of this machine in; loopback only")
	f.StringVar(&o.tokens, "tokens", "", "`file` of named tokens (default: tokens.yaml in the state directory)")
	f.StringVar(&o.policy, "policy", "", "YAML `file` that says what each principal may do; read again when it changes")
	f.StringArrayVar(&o.allowOrigins, "allow-origin", nil, "`origin` of web pages that may connect, such as https://app.example; repeatable")
	f.StringArrayVar(&o.allowHosts, "allow-host", nil, "further `name[:port]` the host is reached under; repeatable")
	f.StringArrayVar(&o.allowWebhooks, "allow-webhook", nil, "`URL` prefix webhooks may have, whatever its scheme and address; repeatable")
	f.StringArrayVar(&o.allowTCP, "allow-tcp", nil, "destination clients may reach beside this machine's loopback: `name|IP|CIDR:port|from-to|*`; repeatable")
	f.StringVar(&o.tlsCert, "tls-cert", "", "`file` with a certificate chain (PEM): serve wss instead of ws")
	f.StringVar(&o.tlsKey, "tls-key", "", "`file` with the key of the certificate (PEM)")
	f.StringVar(&o.tlsClientCA, "tls-client-ca", "", "`file` with authorities (PEM) whose client certificates let in, under their common name")
	o.agents.addFlags(f)
	f.StringVar(&o.logLevel, "log-level", "info", "`level`: debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", logText, "`format` of the log: text, or json with an object a line")
	f.BoolVar(&o.pprof, "pprof", false, "serve profiles at /debug/pprof/, to the owner's token on this machine only")
	f.StringVar(&o.wireLog, "wire-log", "", "append every message to this `file`, known secrets left out; it holds what users write")
	f.StringVar(&o.config, "config", "", "YAML `file` with these flags by name; the command line wins")
	o.store.flags(f)
	o.limits.flags(cmd)
	f.DurationVar(&o.autoExit, "auto-exit", 0, "end when nobody has needed the host for so long")
	f.Lookup("auto-exit").NoOptDefVal = defaultAutoExit.String()
	f.Lookup("auto-exit").Hidden = true // what 'run' starts, not what a person types
	return cmd
}

func runServe(cmd *cobra.Command, o *serveOptions) error {
	if o.config != "" {
		if err := applyConfig(cmd.Flags(), o.config); err != nil {
			return err
		}
	}
	if o.limits.asked() {
		return o.limits.list(cmd.OutOrStdout())
	}
	if err := o.check(); err != nil {
		return err
	}
	dir, err := openDataDir(cmd)
	if err != nil {
		return err
	}
	return serve(cmd.Context(), o, dir, cmd.OutOrStdout(), o.logger(cmd.ErrOrStderr()))
}

// check finds what makes no sense before anything is opened.
func (o *serveOptions) check() error {
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return usagef("--listen %q is not of the form host:port", o.listen)
	}
	switch {
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return usagef("--tls-cert and --tls-key belong together")
	case o.tlsClientCA != "" && o.tlsCert == "":
		return usagef("--tls-client-ca needs --tls-cert and --tls-key")
	case o.autoExit < 0:
		return usagef("--auto-exit must not be negative")
	}
	if err := o.store.check(); err != nil {
		return err
	}
	if err := o.level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return usagef("--log-level %q is none of debug, info, warn, error", o.logLevel)
	}
	if o.logFormat != logText && o.logFormat != logJSON {
		return usagef("--log-format %q is neither text nor json", o.logFormat)
	}
	if err := o.agents.check(); err != nil {
		return err
	}
	if err := o.limits.check(); err != nil {
		return err
	}
	if err := o.checkTCP(); err != nil {
		return err
	}
	return o.checkCwd()
}

func (o *serveOptions) checkTCP() error {
	for _, text := range o.allowTCP {
		rule, err := tcp.ParseRule(text)
		if err != nil {
			return usagef("--allow-tcp %w", err)
		}
		o.tcpRules = append(o.tcpRules, rule)
	}
	return nil
}

func (o *serveOptions) checkCwd() error {
	abs, err := filepath.Abs(o.cwd) // "" is here
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	info, err := os.Stat(abs)
	if err != nil || !info.IsDir() {
		return usagef("--cwd %s is not a directory", abs)
	}
	o.cwd = abs
	return nil
}

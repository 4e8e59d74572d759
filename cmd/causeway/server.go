package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/feature/service"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/feature/tcp"
	"github.com/causeway-ahp/causeway/feature/telemetry"
	"github.com/causeway-ahp/causeway/feature/toolnotify"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/policy"
	"github.com/prometheus/client_golang/prometheus"
)

// shutdownTimeout bounds an orderly shutdown.
const shutdownTimeout = 10 * time.Second

// server is a running host with everything around it. Its fields are set before
// it serves and do not change.
type server struct {
	options  *serveOptions
	dir      datadir.Dir
	log      *slog.Logger
	claim    *datadir.Claim
	token    string
	keys     *keys
	wire     *wireLog     // nil: off
	policy   *policy.File // nil: there is none
	tcp      net.Listener
	unix     net.Listener // nil: there is none
	sessions *session.Feature
	services *service.Feature
	forwards *tcp.Feature
	notifier *notifier // nil until build has opened it
	host     *host.Host
	endpoint *endpoint.Endpoint
}

// serve runs a host on dir until ctx ends. Stdout gets what tools that start
// hosts wait for.
func serve(ctx context.Context, o *serveOptions, dir datadir.Dir, stdout io.Writer, log *slog.Logger) (err error) {
	defer paceCollector()()
	claim, err := claimDir(ctx, dir)
	if err != nil {
		var running *datadir.RunningError
		if errors.As(err, &running) {
			return fmt.Errorf("%w; end it with 'causeway stop', or use another --data", err)
		}
		return err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	s := &server{options: o, dir: dir, log: log, claim: claim}
	defer func() { err = errors.Join(err, s.wire.Close(), s.closePolicy()) }()
	defer func() { err = errors.Join(err, s.closeNotifier(ctx)) }() // after the host, which still tells it things
	if err := s.open(); err != nil {
		return errors.Join(err, s.closeListeners())
	}
	if err := s.build(ctx); err != nil {
		return errors.Join(err, s.closeListeners())
	}
	return s.run(ctx, stdout)
}

// open reads the tokens and opens what the host needs of the system.
func (s *server) open() (err error) {
	if s.token, err = s.dir.Token(); err != nil {
		return err
	}
	path := s.options.tokens
	if path == "" {
		path = s.dir.TokensPath()
	} else if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("read --tokens: %w; 'causeway token add --tokens FILE NAME' makes it", err)
	}
	if s.keys, err = newKeys(s.token, path, s.log); err != nil {
		return err
	}
	if s.options.policy != "" {
		if s.policy, err = policy.Open(s.options.policy, s.log); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	if s.options.wireLog != "" {
		if s.wire, err = openWireLog(s.options.wireLog, s.log); err != nil {
			return err
		}
	}
	return s.listen()
}

// build makes the host and its door.
func (s *server) build(ctx context.Context) (err error) {
	version := buildVersion()
	watched := telemetry.New(telemetry.Options{Version: version})
	s.log = slog.New(watched.Handler(s.log.Handler()))
	cwd := directoryURI(s.options.cwd)
	agents, err := s.options.agents.providers(s.log)
	if err != nil {
		return err
	}
	s.sessions = session.New(session.Options{Providers: agents, Log: s.log, DefaultDirectory: cwd, Limits: s.options.limits.session})
	relay, forwarding := service.Options{Limits: s.options.limits.service, Log: s.log}, tcp.Options{Allow: s.options.tcpRules, Limits: s.options.limits.tcp, Log: s.log}
	var rules host.Policy
	if s.policy != nil {
		relay.Policy, rules = s.policy, s.policy
		forwarding.Access = destinations{s.policy, append(tcp.Loopback(), s.options.tcpRules...)}
	}
	s.services = service.New(relay)
	s.forwards = tcp.New(forwarding)
	if err := s.endLeftovers(); err != nil {
		return err
	}
	counters := prometheus.NewRegistry()
	s.notifier, err = openNotifier(ctx, s.dir, notifierOptions{allow: s.options.allowWebhooks, log: s.log, metrics: counters})
	if err != nil {
		return err
	}
	// Before the sessions: it is stopped after them, and hears how they end.
	tools := toolnotify.New(toolnotify.Options{Engine: s.notifier.engine, Log: s.log})
	store, err := openJournal(s.dir, &s.options.store)
	if err != nil {
		return err
	}
	// The end of ctx begins an orderly shutdown; it must not cut it short.
	ctx = context.WithoutCancel(ctx)
	s.host, err = host.New(ctx, host.Options{
		Features: []host.Feature{tools, s.sessions, s.services, s.forwards, watched}, Policy: rules, Log: s.log, DefaultDirectory: cwd,
		Limits: s.options.limits.host, Store: store, SyncEvery: s.options.store.every, Retention: s.options.store.retention(),
		Info: ahp.Implementation{Name: "causeway", Version: &version},
	})
	if err != nil {
		return err
	}
	if err := errors.Join(s.host.Metrics().Register(counters), s.measure(s.host.Metrics())); err != nil {
		return errors.Join(err, s.host.Shutdown(ctx))
	}
	o := endpoint.Options{
		AllowOrigins: s.options.allowOrigins, AllowHosts: s.options.allowHosts, Tokens: s.keys.valid, Log: s.log,
		Checks: s.checks(), Profiles: s.options.pprof, WebSocket: s.options.limits.socket,
	}
	if s.options.noToken {
		o.Tokens = nil
	}
	if s.wire != nil {
		o.Wrap = s.wire.wrap
	}
	if name, _, _ := net.SplitHostPort(s.options.listen); name != "" && net.ParseIP(name) == nil {
		o.AllowHosts = append(o.AllowHosts, name)
	}
	if s.endpoint, err = endpoint.New(ctx, s.host, o); err != nil {
		return errors.Join(&usageError{err}, s.host.Shutdown(ctx))
	}
	return nil
}

// run serves until there is a reason to end, and then ends in order.
func (s *server) run(ctx context.Context, stdout io.Writer) error {
	failed := make(chan error, 2)
	var serving sync.WaitGroup
	for _, ln := range []net.Listener{s.tcp, s.unix} {
		if ln == nil {
			continue
		}
		serving.Go(func() {
			if err := s.endpoint.Serve(ln); err != nil {
				failed <- err
			}
		})
	}
	watching, stop := context.WithCancel(ctx)
	if s.policy != nil {
		serving.Go(func() {
			if err := s.policy.Watch(watching, s.policyChanged); err != nil {
				s.log.Error("the policy file is no longer watched", "err", err)
			}
		})
	}
	err := s.announce(stdout)
	if err == nil {
		err = s.wait(ctx, failed)
	}
	stop()
	err = errors.Join(err, s.shutdown(ctx))
	serving.Wait()
	return err
}

func (s *server) closeNotifier(ctx context.Context) error {
	if s.notifier == nil {
		return nil
	}
	s.notifier.attemptAll(ctx, hostAttempts)
	return s.notifier.close(ctx)
}

// announce lets others find the host and says on stdout that it is ready. In the
// background stdout is a file, where the token has no business.
func (s *server) announce(stdout io.Writer) error {
	h := datadir.Host{
		PID: os.Getpid(), Started: time.Now().UTC(), Address: s.tcp.Addr().String(), Secure: s.options.tlsCert != "",
		Version: buildVersion(), NoToken: s.options.noToken, AutoExit: s.options.autoExit > 0,
	}
	if s.unix != nil {
		h.Socket = s.unix.Addr().String()
	}
	if err := s.claim.Publish(h); err != nil {
		return err
	}
	s.log.Info("host is ready", "address", h.Address, "socket", h.Socket, "data", s.dir.Path())
	lines := fmt.Sprintf("READY:%d\n", port(s.tcp.Addr()))
	if !h.AutoExit {
		token := s.token
		if h.NoToken {
			token = ""
		}
		lines += publicURL(h.Address, h.Secure, token) + "\n"
	}
	_, err := io.WriteString(stdout, lines)
	return err
}

// wait returns nil when the host is to end: it was told to, or nobody needs it.
func (s *server) wait(ctx context.Context, failed <-chan error) error {
	var tick <-chan time.Time
	retire := make(chan os.Signal, 1)
	if limit := s.options.autoExit; limit > 0 {
		ticker := time.NewTicker(min(max(limit/10, 10*time.Millisecond), 10*time.Second))
		defer ticker.Stop()
		tick = ticker.C
		signal.Notify(retire, syscall.SIGHUP)
		defer signal.Stop(retire)
	}
	for {
		select {
		case <-ctx.Done():
			s.log.Info("shutting down", "why", context.Cause(ctx))
			return nil
		case err := <-failed:
			return err
		case <-tick:
			if s.unused(s.options.autoExit) {
				s.log.Info("shutting down", "why", "nobody has needed the host", "for", s.options.autoExit)
				return nil
			}
		case <-retire:
			if s.unused(0) {
				s.log.Info("shutting down", "why", "another version takes over")
				return nil
			}
		}
	}
}

// unused reports whether nobody has been connected for so long and nothing runs.
func (s *server) unused(atLeast time.Duration) bool {
	since, idle := s.host.Idle()
	return idle && time.Since(since) >= atLeast && !s.sessions.Busy()
}

// shutdown ends the host in order, within shutdownTimeout. Nobody finds it any
// more from its first moment on.
func (s *server) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), shutdownTimeout, fmt.Errorf("it took more than %v", shutdownTimeout))
	defer cancel()
	err := s.claim.Retract()
	return errors.Join(err, s.endpoint.Shutdown(ctx))
}

// directoryURI is the URI of an absolute path.
func directoryURI(path string) ahp.URI {
	u := url.URL{Scheme: "file", Path: path}
	return u.String()
}

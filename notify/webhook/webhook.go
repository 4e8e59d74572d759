package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/notify"
)

// Name is the type's name on the wire.
const Name = "webhook"

// Options of the route type. The zero value reaches public https endpoints.
type Options struct {
	Allow []Rule
	// Dial opens a connection to an address that was checked; nil: the system's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolve looks a name up; nil: the system's resolver.
	Resolve   func(ctx context.Context, host string) ([]netip.Addr, error)
	RootCAs   *x509.CertPool // nil: the system's
	ServerKey *ServerKey     // signs beside the endpoint's key; nil: none
	// IdlePerTarget is how many connections are kept open to a target: 4.
	IdlePerTarget int
}

// Timeouts of the parts of an attempt.
const (
	dialTimeout = 5 * time.Second
	tlsTimeout  = 5 * time.Second
	idleTimeout = 30 * time.Second
)

// Webhook is the route type.
type Webhook struct {
	opts Options
	// Connections that were checked and those that a rule allows unchecked never
	// mix: a kept one would carry the leave over.
	checked, allowed *http.Client
}

// New returns the route type. Close releases its connections.
func New(o Options) *Webhook {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if o.IdlePerTarget == 0 {
		o.IdlePerTarget = 4
	}
	w := &Webhook{opts: o}
	w.checked = w.client(reachable)
	w.allowed = w.client(func(netip.Addr) bool { return true })
	return w
}

func (w *Webhook) client(may func(netip.Addr) bool) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // the environment's would dial elsewhere
			DialContext:            w.dialer(may),
			TLSClientConfig:        &tls.Config{RootCAs: w.opts.RootCAs, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    tlsTimeout,
			DisableCompression:     true,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    w.opts.IdlePerTarget,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// Close closes connections that are kept open.
func (w *Webhook) Close() {
	w.checked.CloseIdleConnections()
	w.allowed.CloseIdleConnections()
}

// Name implements notify.RouteType.
func (w *Webhook) Name() string { return Name }

// Admits implements notify.RouteType: a URL of an unknown caller would make us a
// tool for flooding others.
func (w *Webhook) Admits(principal string) bool { return principal != "" }

// Ready implements notify.RouteType.
func (w *Webhook) Ready(string, *notify.Route) bool { return true }

// Show implements notify.RouteType.
func (w *Webhook) Show(endpoint string) string { return show(endpoint) }

// Scope implements notify.Verifier.
func (w *Webhook) Scope(r *notify.Route) string {
	a, err := parseEndpoint(r.Endpoint)
	if err != nil {
		return r.Endpoint
	}
	return a.scope()
}

// Proven implements notify.Verifier.
func (w *Webhook) Proven(r *notify.Route) bool { return r.Grant != "" }

// NewKey implements notify.Signer.
func (w *Webhook) NewKey() notify.Secret { return NewKey() }

// ValidKey implements notify.Signer.
func (w *Webhook) ValidKey(s notify.Secret) bool {
	_, err := symmetric(s)
	return err == nil
}

// trustedGrant is the leave of an endpoint that the operator named himself.
const trustedGrant = "named by the operator"

// Validate implements notify.RouteType.
func (w *Webhook) Validate(c notify.Caller, r *notify.Route) (reason string) {
	a, err := parseEndpoint(r.Endpoint)
	if err != nil {
		return notify.RouteInvalidEndpoint
	}
	for _, h := range r.Headers {
		if !headerAllowed(h.Name) {
			return notify.RouteInvalidEndpoint
		}
	}
	r.Target, r.Grant = a.target(), w.grant(c, &a)
	if r.Payload == "" {
		r.Payload = notify.PayloadThin
	}
	if r.Grant == "" && (a.url.Scheme != "https" || a.port != "443" || a.literal) {
		return notify.RouteNotAllowed
	}
	return ""
}

// grant is the rule that allows an address, "" for none.
func (w *Webhook) grant(c notify.Caller, a *address) string {
	if c.Trusted {
		return trustedGrant
	}
	if i := slices.IndexFunc(w.opts.Allow, func(r Rule) bool { return r.allows(a) }); i >= 0 {
		return w.opts.Allow[i].text
	}
	return ""
}

// headerAllowed reports whether a caller may set a header (notifications, 10.2).
func headerAllowed(name string) bool {
	name = strings.ToLower(name)
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(name, "x-causeway-") {
		return false
	}
	return name == "authorization" || strings.HasPrefix(name, "x-") && len(name) > 2
}

var (
	_ notify.Verifier = (*Webhook)(nil)
	_ notify.Signer   = (*Webhook)(nil)
)

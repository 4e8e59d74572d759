package webhook

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"

	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/notify"
)

// publicAddr is where example.com is in these tests.
var publicAddr = netip.MustParseAddr("93.184.215.14")

// world is a network with one https server, example.com, and whatever names lead
// wherever a test says. Everything that is dialled is written down.
type world struct {
	t      *testing.T
	net    *simnet.Network
	hook   *Webhook
	server *httptest.Server

	mu       sync.Mutex
	names    map[string][]netip.Addr
	dialled  []string
	requests []request
	handler  http.HandlerFunc // nil: 200
}

type request struct {
	method, uri string
	header      http.Header
	body        []byte
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, net: simnet.New(1), names: map[string][]netip.Addr{"example.com": {publicAddr}}}
	ln, err := w.net.Listen(net.JoinHostPort(publicAddr.String(), "443"))
	if err != nil {
		t.Fatal(err)
	}
	w.server = &httptest.Server{Listener: ln, Config: &http.Server{Handler: w}}
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	o := Options{Dial: w.dial, Resolve: w.resolve, RootCAs: roots}
	for _, f := range change {
		f(&o)
	}
	w.hook = New(o)
	t.Cleanup(w.hook.Close)
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.requests = append(w.requests, request{r.Method, r.RequestURI, r.Header.Clone(), body})
	handler := w.handler
	w.mu.Unlock()
	if handler != nil {
		r.Body = http.NoBody
		handler(rw, r)
	}
}

func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	return w.net.Dial(ctx, "causeway", address)
}

func (w *world) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	addrs, ok := w.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

func (w *world) answer(h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handler = h
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.dialled...)
}

func (w *world) last() request {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		w.t.Fatal("no request arrived")
	}
	return w.requests[len(w.requests)-1]
}

func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.requests)
}

// keys are credentials as a test has them.
type keys struct {
	signing []notify.Secret
	headers map[string]notify.Secret
}

func (k keys) Signing(context.Context) ([]notify.Secret, error) {
	if k.signing == nil {
		return nil, notify.ErrNoSecret
	}
	return k.signing, nil
}

func (k keys) Header(_ context.Context, h notify.Header) (notify.Secret, error) {
	s, ok := k.headers[h.SecretRef]
	if !ok {
		return s, notify.ErrNoSecret
	}
	return s, nil
}

// testKey is the key of the public test vector of the reference libraries.
var testKey = notify.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

var caller = notify.Caller{Principal: "alice"}

// send makes one attempt at an endpoint, past admission.
func (w *world) send(endpoint string, body string) notify.Outcome {
	w.t.Helper()
	r := &notify.Route{ID: "a", Type: Name, Endpoint: endpoint}
	w.hook.Validate(caller, r)
	return w.attempt(r, body)
}

func (w *world) attempt(r *notify.Route, body string) notify.Outcome {
	m := notify.Message{ID: "ntf_a", CallID: "tc_a", Attempt: 1, Body: []byte(body)}
	return w.hook.Attempt(w.t.Context(), r, m, keys{signing: []notify.Secret{testKey}})
}

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/coder/websocket"
)

// initializeMessage is a complete handshake of a client.
const initializeMessage = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":"tester"}}`

// dialUnix connects over a Unix socket with an independent client.
func dialUnix(ctx context.Context, path string) (*websocket.Conn, error) {
	overUnix := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	c, _, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{HTTPClient: overUnix})
	return c, err
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptWait)
	t.Cleanup(cancel)
	return ctx
}

// stateDir is a directory whose path is short enough for a socket.
func stateDir(t *testing.T) datadir.Dir {
	t.Helper()
	path, err := os.MkdirTemp("", "cw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// serveInside runs a host in this process until the test ends.
func serveInside(t *testing.T, d datadir.Dir, o serveOptions) datadir.Host {
	t.Helper()
	o.listen = "127.0.0.1:0"
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serve(ctx, &o, d, new(bytes.Buffer), slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); serving.Wait() })
	h, err := awaitHost(testContext(t), d)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// issue signs a template, or lets it sign itself when there is no authority yet.
func (a *authority) issue(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// client is a client certificate with a common name.
func (a *authority) client(name string) tls.Certificate {
	cert, key := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// server writes a certificate for loopback and the authority as files.
func (a *authority) server(dir string) (certFile, keyFile, caFile string) {
	a.t.Helper()
	cert, key := a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "host"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			a.t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert.Raw), write("key.pem", "PRIVATE KEY", der), write("ca.pem", "CERTIFICATE", a.cert.Raw)
}

// dialTLS connects with a client certificate, if there is one, and returns the
// HTTP status.
func (a *authority) dialTLS(ctx context.Context, h datadir.Host, cert ...tls.Certificate) (int, error) {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: cert}}}
	c, resp, err := websocket.Dial(ctx, "wss://"+h.Address+"/", &websocket.DialOptions{HTTPClient: secure})
	if resp == nil {
		return 0, err
	}
	if c != nil {
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
	return resp.StatusCode, nil
}

func TestClientCertificates(t *testing.T) {
	ctx, d, a := testContext(t), stateDir(t), newAuthority(t)
	wire := filepath.Join(d.Path(), "wire.log")
	o := serveOptions{wireLog: wire}
	o.tlsCert, o.tlsKey, o.tlsClientCA = a.server(d.Path())
	h := serveInside(t, d, o)
	if !h.Secure {
		t.Error("the host does not say that it wants TLS")
	}
	tests := []struct {
		name string
		cert []tls.Certificate
		want int
	}{
		{"ours", []tls.Certificate{a.client("alice")}, http.StatusSwitchingProtocols},
		{"none", nil, http.StatusForbidden},
		{"the owner's name", []tls.Certificate{a.client("local")}, http.StatusForbidden},
	}
	for _, tt := range tests {
		if got, err := a.dialTLS(ctx, h, tt.cert...); got != tt.want {
			t.Errorf("%s: status %d, want %d (%v)", tt.name, got, tt.want, err)
		}
	}
	foreign := newAuthority(t).client("alice")
	if got, _ := a.dialTLS(ctx, h, foreign); got == http.StatusSwitchingProtocols {
		t.Error("a certificate of a foreign authority was let in")
	}
	data, err := os.ReadFile(wire)
	if err != nil || !strings.Contains(string(data), `"principal":"alice"`) {
		t.Errorf("no connection of alice: %s, %v", data, err)
	}
	if raw, err := localURL(d, h); err != nil || !strings.HasPrefix(raw, "ws+unix:///") {
		t.Errorf("the local URL is %q, %v, want the socket: a certificate for loopback is rare", raw, err)
	}
}

// TestSecondSignal sends SIGTERM to a host with a client that does not answer:
// the first one begins an orderly shutdown, which takes a moment, a later one
// ends the process there and then.
func TestSecondSignal(t *testing.T) {
	ctx, d := testContext(t), stateDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{"causeway", "serve", "--data", d.Path(), "--listen", "127.0.0.1:0"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	var waiting sync.WaitGroup
	waiting.Go(func() { ended <- cmd.Wait() })
	defer waiting.Wait()
	h, err := awaitHost(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	mute, err := dialUnix(ctx, h.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.CloseNow()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-tick.C:
			continue
		case <-ended:
		}
		break
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v, want by the signal", cmd.ProcessState)
	}
}

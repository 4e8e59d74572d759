package websocket

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/transport"
	"github.com/gobwas/ws"
)

func TestDialRefused(t *testing.T) {
	for _, status := range []int{401, 403, 404, 429, 503, 200} {
		synctest.Test(t, func(t *testing.T) {
			ln := newPipeListener()
			serve(t, ln, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			_, err := Dial(t.Context(), "ws://host.test/", DialOptions{Dialer: ln.dial})
			var he *HandshakeError
			if !errors.As(err, &he) || he.Status != status {
				t.Errorf("got %v, want status %d", err, status)
			}
		})
	}
}

// TestDialNoAnswer: a server that accepts and says nothing.
func TestDialNoAnswer(t *testing.T) {
	for _, scheme := range []string{"ws", "wss"} {
		synctest.Test(t, func(t *testing.T) {
			far := make(chan net.Conn, 1)
			dial := func(context.Context, string, string) (net.Conn, error) {
				a, b := net.Pipe()
				far <- b
				return a, nil
			}
			begin := time.Now()
			_, err := Dial(t.Context(), scheme+"://host.test/", DialOptions{Dialer: dial})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want a deadline", scheme, err)
			}
			if took := time.Since(begin); took != DefaultUpgradeTimeout {
				t.Errorf("%s: gave up after %v", scheme, took)
			}
			_ = (<-far).Close()
		})
	}
}

func TestDialCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := Dial(ctx, "ws://host.test/", DialOptions{Dialer: dial}); !errors.Is(err, cause) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

func TestParseTarget(t *testing.T) {
	tests := []struct{ in, network, addr, uri, err string }{
		{in: "ws://h", network: "tcp", addr: "h:80", uri: "/"},
		{in: "ws://h:7433/?tkn=a", network: "tcp", addr: "h:7433", uri: "/?tkn=a"},
		{in: "wss://h/p", network: "tcp", addr: "h:443", uri: "/p"},
		{in: "ws://[::1]/", network: "tcp", addr: "[::1]:80", uri: "/"},
		{in: "wss://[::1]:1/", network: "tcp", addr: "[::1]:1", uri: "/"},
		{in: "ws+unix:///run/a%20b.sock?tkn=x", network: "unix", addr: "/run/a b.sock", uri: "/?tkn=x"},
		{in: "ws+unix://host/run/s", err: "absolute path"},
		{in: "ws+unix:///", err: "absolute path"},
		{in: "http://h/", err: "unsupported scheme"},
		{in: "ws:///p", err: "without a host"},
		{in: "ws://h:x/?tkn=secret", err: "parse url"},
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: got error %v, want %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || got.network != tt.network || got.addr != tt.addr || got.request.RequestURI() != tt.uri {
			t.Errorf("%s: got %+v, %v", tt.in, got, err)
		}
	}
}

func TestDialHeaderAndHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipeListener()
		seen := make(chan *http.Request, 1)
		serve(t, ln, func(w http.ResponseWriter, r *http.Request) {
			seen <- r
			w.WriteHeader(http.StatusForbidden)
		})
		h := http.Header{"Authorization": {"Bearer t"}, "Host": {"other.test"}}
		_, err := Dial(t.Context(), "ws+unix:///s?tkn=q", DialOptions{Dialer: ln.dial, Header: h})
		if err == nil {
			t.Fatal("want a refusal")
		}
		r := <-seen
		if r.Host != "other.test" || r.Header.Get("Authorization") != "Bearer t" || r.RequestURI != "/?tkn=q" {
			t.Errorf("got host %q, header %v, uri %q", r.Host, r.Header, r.RequestURI)
		}
		if h.Get("Host") == "" {
			t.Error("the caller's header was changed")
		}
	})
}

func TestDialTLS(t *testing.T) {
	h, conns := accept(t, Options{})
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // it reports the refused handshake below
	srv.StartTLS()
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	url := "wss" + strings.TrimPrefix(srv.URL, "https")
	cc, err := Dial(t.Context(), url, DialOptions{TLS: &tls.Config{RootCAs: pool}})
	if err != nil {
		t.Fatal(err)
	}
	hc := <-conns
	big := strings.Repeat("x", 1<<20)
	go mustWrite(t, cc, "over tls", big)
	if mustRead(t, hc) != "over tls" || mustRead(t, hc) != big {
		t.Error("messages differ")
	}
	end := reading(hc)
	_ = cc.Close(transport.CodeGoingAway, "bye")
	wantCloseError(t, <-end, transport.CodeGoingAway, true)
	_ = hc.Close(transport.CodeNormal, "")

	if _, err := Dial(t.Context(), url, DialOptions{}); err == nil {
		t.Error("an unknown certificate was accepted")
	}
}

func TestUpgradeRefusesOtherRequests(t *testing.T) {
	tests := []struct {
		name   string
		change func(h http.Header)
		status int
	}{
		{"no upgrade", func(h http.Header) { h.Del("Upgrade") }, 400},
		{"no key", func(h http.Header) { h.Del("Sec-Websocket-Key") }, 400},
		{"old version", func(h http.Header) { h.Set("Sec-Websocket-Version", "8") }, 426},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := Upgrade(w, r, Options{}); err == nil {
			t.Error("upgraded")
		}
	}))
	defer srv.Close()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
				"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
			}
			tt.change(r.Header)
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tt.status {
				t.Errorf("got %d, want %d", res.StatusCode, tt.status)
			}
		})
	}
	rec := httptest.NewRecorder() // cannot be hijacked
	if _, err := Upgrade(rec, httptest.NewRequest(http.MethodGet, "/", nil), Options{}); err == nil || rec.Code != 500 {
		t.Errorf("got %v and status %d", err, rec.Code)
	}
}

// TestEarlyFrames: what the peer sends in one packet with its half of the
// upgrade is not lost.
func TestEarlyFrames(t *testing.T) {
	long := strings.Repeat("x", 2000) // above the parked buffer
	t.Run("host", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ln := newPipeListener()
			h, conns := accept(t, Options{})
			serve(t, ln, h)
			nc, err := ln.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, nc) }()
			go nc.Write(join([]byte("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
				frame(true, ws.OpText, long), frame(true, ws.OpText, "second")))
			c := <-conns
			if mustRead(t, c) != long || mustRead(t, c) != "second" {
				t.Error("early messages differ")
			}
			_ = nc.Close()
			_ = c.Close(transport.CodeNormal, "")
		})
	})
	t.Run("client", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			dial := func(context.Context, string, string) (net.Conn, error) { return near, nil }
			go answerWith(t, far, ws.NewTextFrame([]byte(long)))
			c, err := Dial(t.Context(), "ws://host.test/", DialOptions{Dialer: dial})
			if err != nil {
				t.Fatal(err)
			}
			if mustRead(t, c) != long {
				t.Error("early message differs")
			}
			_ = far.Close()
			_ = c.Close(transport.CodeNormal, "")
		})
	})
}

// answerWith upgrades nc and sends f in the same write as the response.
func answerWith(t *testing.T, nc net.Conn, f ws.Frame) {
	var response bytes.Buffer
	if _, err := ws.Upgrade(struct {
		io.Reader
		io.Writer
	}{nc, &response}); err != nil {
		t.Errorf("upgrade: %v", err)
	}
	if err := ws.WriteFrame(&response, f); err != nil {
		t.Errorf("frame: %v", err)
	}
	if _, err := nc.Write(response.Bytes()); err != nil {
		t.Errorf("write: %v", err)
	}
}

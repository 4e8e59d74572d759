package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/transport"
	"github.com/coder/websocket"
)

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// world is an endpoint on real sockets.
type world struct {
	*Endpoint
	addr string // of the TCP listener
	sock string // path of the Unix socket
	log  *lockedBuffer
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{log: new(lockedBuffer)}
	o.Log = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return newWorldOf(t, o, host.Options{Log: o.Log}, w)
}

func newWorldOf(t *testing.T, o Options, of host.Options, w *world) *world {
	t.Helper()
	h, err := host.New(t.Context(), of)
	if err != nil {
		t.Fatalf("host: %v", err)
	}
	if w.Endpoint, err = New(context.WithoutCancel(t.Context()), h, o); err != nil {
		t.Fatalf("endpoint: %v", err)
	}
	w.health.every = 10 * time.Millisecond
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr, w.sock = tcp.Addr().String(), filepath.Join(t.TempDir(), "s")
	unix, err := net.Listen("unix", w.sock)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	for _, ln := range []net.Listener{tcp, unix} {
		serving.Go(func() {
			if err := w.Serve(ln); err != nil {
				t.Errorf("serve: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := w.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		serving.Wait()
	})
	return w
}

// get asks over TCP and returns the status and the body.
func (w *world) get(t *testing.T, path string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.1.0"],"clientId":%q}}`
	initialized = `"protocolVersion":"1.1.0"`
)

// dial upgrades with an independent client and completes the handshake.
func dial(ctx context.Context, url string, o *websocket.DialOptions) (*websocket.Conn, int, error) {
	c, resp, err := websocket.Dial(ctx, url, o)
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	if err != nil {
		return nil, status, err
	}
	if err := c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, initialize, rand.Text())); err != nil {
		return c, status, err
	}
	_, data, err := c.Read(ctx)
	if err == nil && !strings.Contains(string(data), initialized) {
		err = fmt.Errorf("unexpected answer %s", data)
	}
	return c, status, err
}

func TestUpgrade(t *testing.T) {
	var mu sync.Mutex
	var principals []host.Principal
	w := newWorld(t, Options{Tokens: testTokens, Wrap: func(c transport.Conn, p host.Principal) transport.Conn {
		mu.Lock()
		defer mu.Unlock()
		principals = append(principals, p)
		return c
	}})
	overUnix := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.sock)
	}}}
	tests := []struct {
		name, query string
		options     *websocket.DialOptions
		want        int
		whose       host.Principal
	}{
		{"query", "?tkn=" + ownToken, nil, http.StatusSwitchingProtocols, host.Local},
		{"header", "", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + guestToken}}}, http.StatusSwitchingProtocols, "guest"},
		{"socket", "", &websocket.DialOptions{HTTPClient: overUnix}, http.StatusSwitchingProtocols, host.Local},
		{"no token", "", nil, http.StatusForbidden, ""},
		{"wrong token", "?tkn=planted-wrong-token", nil, http.StatusForbidden, ""},
		{"foreign page", "?tkn=" + ownToken, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.test"}}}, http.StatusForbidden, ""},
		{"rebinding", "?tkn=" + ownToken, &websocket.DialOptions{Host: "evil.test"}, http.StatusForbidden, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mu.Lock()
			principals = nil
			mu.Unlock()
			c, status, err := dial(t.Context(), "ws://"+w.addr+"/"+tt.query, tt.options)
			if status != tt.want {
				t.Fatalf("status %d, want %d (%v)", status, tt.want, err)
			}
			if tt.want != http.StatusSwitchingProtocols {
				return
			}
			if err != nil {
				t.Fatalf("handshake: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(principals) != 1 || principals[0] != tt.whose {
				t.Errorf("principals %q, want %q", principals, tt.whose)
			}
			if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	for _, secret := range []string{ownToken, guestToken, "planted-wrong-token", "tkn="} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log holds %q:\n%s", secret, w.log)
		}
	}
	if !strings.Contains(w.log.String(), "https://evil.test") {
		t.Errorf("the log does not name the refused origin:\n%s", w.log)
	}
}

func TestPaths(t *testing.T) {
	w := newWorld(t, Options{Tokens: testTokens})
	bearer := http.Header{"Authorization": {"Bearer " + ownToken}}
	tests := []struct {
		name, path string
		header     http.Header
		want       int
		body       string
	}{
		{"health", "/healthz", nil, http.StatusOK, `{"status":"ok"}` + "\n"},
		{"metrics", "/metrics", bearer, http.StatusOK, `causeway_connections{transport="websocket",version="1.x"} 0`},
		{"metrics with the token in the query", "/metrics?token=" + guestToken, nil, http.StatusOK, `causeway_connections{transport="websocket",version="1.x"} 0`},
		{"metrics without a token", "/metrics", nil, http.StatusForbidden, "a token is needed"},
		{"metrics for a page", "/metrics?tkn=" + ownToken, http.Header{"Origin": {"https://evil.test"}}, http.StatusForbidden, "origin"},
		{"no upgrade", "/", bearer, http.StatusUpgradeRequired, "WebSocket"},
		{"no upgrade, no token", "/", nil, http.StatusForbidden, "a token is needed"},
		{"unknown", "/other?tkn=" + ownToken, nil, http.StatusNotFound, "not found"},
		{"not redirected", "//?tkn=" + ownToken, nil, http.StatusNotFound, "not found"},
		{"broken upgrade", "/", http.Header{"Authorization": bearer["Authorization"], "Upgrade": {"websocket"}}, http.StatusBadRequest, ""},
		{"header too large", "/healthz", http.Header{"X-Large": {strings.Repeat("a", 2*MaxHeaderBytes)}}, http.StatusRequestHeaderFieldsTooLarge, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := w.get(t, tt.path, tt.header)
			if status != tt.want || !strings.Contains(body, tt.body) {
				t.Errorf("got %d %q, want %d with %q", status, body, tt.want, tt.body)
			}
			if strings.Contains(body, ownToken) {
				t.Errorf("the answer repeats the token: %q", body)
			}
		})
	}
	if _, body := w.get(t, "/metrics", bearer); !strings.Contains(body, `causeway_refused_total{reason="token"} 2`) {
		t.Errorf("refusals are not counted:\n%s", body)
	}
}

func TestMethodNotAllowed(t *testing.T) {
	w := newWorld(t, Options{})
	resp, err := http.Post("http://"+w.addr+"/", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("status %d, want %d", resp.StatusCode, http.StatusMethodNotAllowed)
	}
}

// TestOneBadPeer sends a frame that is not UTF-8: that connection ends with
// 1007, the other one goes on.
func TestOneBadPeer(t *testing.T) {
	w := newWorld(t, Options{})
	good, _, err := dial(t.Context(), "ws://"+w.addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer good.CloseNow()
	bad, _, err := dial(t.Context(), "ws://"+w.addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bad.CloseNow()
	if err := bad.Write(t.Context(), websocket.MessageText, []byte{0xC3, 0x28}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := bad.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusInvalidFramePayloadData {
		t.Errorf("bad peer: %v, want close code 1007", err)
	}
	if err := good.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"channel":"ahp-root://"}}`)); err != nil {
		t.Fatal(err)
	}
	if _, data, err := good.Read(t.Context()); err != nil || !strings.Contains(string(data), `"id":2`) {
		t.Errorf("good peer: %s, %v", data, err)
	}
}

// TestShutdown keeps a request in the door while the endpoint goes down: new
// ones are told so, and the open connection is closed as "going away".
func TestShutdown(t *testing.T) {
	w := newWorld(t, Options{})
	c, _, err := dial(t.Context(), "ws://"+w.addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	kept, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()

	w.closing.Store(true)
	for _, path := range []string{"/healthz", "/metrics", "/"} {
		if status, _ := w.get(t, path, nil); status != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d while shutting down, want %d", path, status, http.StatusServiceUnavailable)
		}
	}
	if err := w.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("open connection: %v, want close code 1001", err)
	}
	if _, err := bufio.NewReader(kept).ReadByte(); err == nil {
		t.Error("a silent connection was left open")
	}
	if _, err := net.Dial("tcp", w.addr); err == nil {
		t.Error("the listener is still open")
	}
}

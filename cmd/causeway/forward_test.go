package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// forwarding is a 'causeway forward --json' that runs in this process.
type forwarding struct {
	t      *testing.T
	events chan forwardEvent
	addr   string // its first port
}

// startForward runs the command until the test ends.
func startForward(t *testing.T, d datadir.Dir, args ...string) *forwarding {
	t.Helper()
	f := &forwarding{t: t, events: make(chan forwardEvent, 1000)}
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer in.Close()
		root := newRoot()
		root.SetArgs(append([]string{"forward", "--data", d.Path(), "--json"}, args...))
		root.SetOut(in)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("forward: %v", err)
		}
	}()
	go func() {
		defer close(f.events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e forwardEvent
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Errorf("event %s: %v", lines.Bytes(), err)
			}
			f.events <- e
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	f.addr = f.want("listening").Listen
	return f
}

// want waits for an event and passes over others.
func (f *forwarding) want(name string) forwardEvent {
	f.t.Helper()
	for {
		select {
		case e, ok := <-f.events:
			if !ok {
				f.t.Fatalf("the command has ended, want %q", name)
			}
			if e.Event == name {
				return e
			}
		case <-time.After(scriptWait):
			f.t.Fatalf("no event %q", name)
		}
	}
}

// command returns a program of this machine, or skips the test.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	return exec.CommandContext(testContext(t), name, args...)
}

func outputOf(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, errs.Bytes())
	}
	return out
}

func TestForwardCarriesCurl(t *testing.T) {
	body := make([]byte, 8<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(body)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Sum", fmt.Sprintf("%x", sha256.Sum256(got)))
		_, _ = w.Write(body)
	}))
	defer web.Close()
	d := stateDir(t)
	serveInside(t, d, serveOptions{})
	f := startForward(t, d, "0:"+web.Listener.Addr().String(), "-D", "0")
	socks := f.want("listening").Listen
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	for name, args := range map[string][]string{
		"port":  {"http://" + f.addr + "/"},
		"socks": {"--socks5-hostname", socks, "http://" + strings.Replace(web.Listener.Addr().String(), "127.0.0.1", "localhost", 1) + "/"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := filepath.Join(t.TempDir(), "headers")
			got := outputOf(t, command(t, "curl", append([]string{"-sS", "-D", headers, "-H", "Expect:", "--data-binary", "@" + file}, args...)...))
			if !bytes.Equal(got, body) {
				t.Errorf("curl received %d other bytes", len(got))
			}
			if h, _ := os.ReadFile(headers); !strings.Contains(string(h), sum) {
				t.Errorf("the server received other bytes: %s", h)
			}
			if e := f.want("closed"); e.Error != "" || *e.Received < int64(len(body)) {
				t.Errorf("closed with %+v", e)
			}
		})
	}
}

func TestForwardCarriesGit(t *testing.T) {
	work, bare, clone := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "clone")
	git := func(args ...string) string {
		cmd := command(t, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0")
		return strings.TrimSpace(string(outputOf(t, cmd)))
	}
	git("init", "-q", work)
	for n := range 5 {
		if err := os.WriteFile(filepath.Join(work, fmt.Sprint("file", n)), bytes.Repeat([]byte{byte(n)}, 10_000), 0o600); err != nil {
			t.Fatal(err)
		}
		git("-C", work, "add", ".")
		git("-C", work, "commit", "-qm", fmt.Sprint("commit ", n))
	}
	git("clone", "-q", "--bare", work, filepath.Join(bare, "r.git"))
	git("-C", filepath.Join(bare, "r.git"), "update-server-info")
	web := httptest.NewServer(http.FileServer(http.Dir(bare)))
	defer web.Close()
	d := stateDir(t)
	serveInside(t, d, serveOptions{})
	f := startForward(t, d, "0:"+web.Listener.Addr().String())
	git("clone", "-q", "http://"+f.addr+"/r.git", clone)
	if got, want := git("-C", clone, "rev-parse", "HEAD"), git("-C", work, "rev-parse", "HEAD"); got != want {
		t.Errorf("cloned %s, want %s", got, want)
	}
	git("-C", clone, "fsck", "--strict")
}

func TestForwardCarriesAWebSocket(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, m, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, m) != nil {
				return
			}
		}
	}))
	defer web.Close()
	d := stateDir(t)
	serveInside(t, d, serveOptions{})
	f := startForward(t, d, "0:"+web.Listener.Addr().String())
	ctx := testContext(t)
	c, _, err := websocket.Dial(ctx, "ws://"+f.addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		want := strings.Repeat("x", n*100)
		if err := c.Write(ctx, websocket.MessageText, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := c.Read(ctx); err != nil || string(got) != want {
			t.Fatalf("message %d: %d bytes, %v", n, len(got), err)
		}
	}
	if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

// Connections end with a reset when the host goes, the port stays, and a new
// connection works as soon as a host is there again.
func TestForwardComesBack(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	echo := func(conn net.Conn) error {
		_ = conn.SetDeadline(time.Now().Add(scriptWait))
		if _, err := io.WriteString(conn, "ping"); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, make([]byte, 4))
		return err
	}
	d := stateDir(t)
	var f *forwarding
	var old net.Conn
	t.Run("first host", func(first *testing.T) {
		serveInside(first, d, serveOptions{}) // ends with the subtest
		f = startForward(t, d, "0:"+ln.Addr().String())
		if old, err = net.Dial("tcp", f.addr); err != nil {
			first.Fatal(err)
		}
		if err := echo(old); err != nil {
			first.Fatal(err)
		}
	})
	defer old.Close()
	f.want("disconnected")
	if _, err := old.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the old connection ended with %v, want a reset", err)
	}
	serveInside(t, d, serveOptions{})
	again, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := echo(again); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

// A refusal resets the local program and is an event that says why.
func TestForwardRefusals(t *testing.T) {
	d := stateDir(t)
	serveInside(t, d, serveOptions{})
	f := startForward(t, d, "0:10.0.0.1:80", "0:localhost:1")
	closed := f.want("listening").Listen
	for addr, reason := range map[string]string{f.addr: "denied", closed: "failed"} {
		conn, err := net.Dial("tcp", addr)
		if err == nil { // else the reset came while it connected
			_, err = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v, want a reset", reason, err)
		}
		if e := f.want("refused"); e.Reason != reason || e.Error == "" {
			t.Errorf("event %+v, want the reason %s", e, reason)
		}
	}
}

// page is a web page that is whole when its style, its script, what the script asks
// for and a WebSocket have all come. A picture that comes last keeps the browser
// loading until then.
const page = `<!doctype html><title>loading</title><link rel="stylesheet" href="style.css"><p id="told"></p>
<img id="dot" src="dot.svg"><img src="whole.svg"><script src="script.js"></script>`

const pageScript = `
const heard = new Set();
function told(what) {
	heard.add(what);
	document.getElementById('told').textContent = 'heard ' + [...heard].sort().join(' ');
	if (heard.size === 11) fetch('finished');
}
const dot = document.getElementById('dot');
if (dot.complete) told('image'); else dot.onload = () => told('image');
if (getComputedStyle(document.body).color === 'rgb(1, 2, 3)') told('style');
for (let n = 0; n < 8; n++) fetch('answer?n=' + n).then(r => r.json()).then(a => told('answer' + a.n));
const ws = new WebSocket('ws://' + location.host + '/echo');
ws.onopen = () => ws.send('x'.repeat(100000));
ws.onmessage = m => { told('websocket' + m.data.length); ws.close(); };
`

// site serves the page.
func site(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	text := func(pattern, kind, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
	}
	text("/{$}", "text/html", page)
	text("/style.css", "text/css", "body { color: rgb(1, 2, 3) }")
	text("/script.js", "text/javascript", pageScript)
	const dot = `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`
	text("/dot.svg", "image/svg+xml", dot)
	finished := make(chan struct{})
	mux.HandleFunc("/finished", func(http.ResponseWriter, *http.Request) { close(finished) })
	mux.HandleFunc("/whole.svg", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-finished:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = io.WriteString(w, dot)
	})
	mux.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"n":%q}`, r.FormValue("n"))
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		if kind, m, err := c.Read(r.Context()); err == nil {
			_ = c.Write(r.Context(), kind, m)
			_, _, _ = c.Read(r.Context()) // the page closes
		}
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web
}

// TestForwardCarriesABrowser: a browser whose proxy is the SOCKS port shows a page of
// the host's network, with everything that it loads.
func TestForwardCarriesABrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if _, err := exec.LookPath(name); err == nil {
			browser = name
			break
		}
	}
	if browser == "" {
		t.Skip("chromium is not installed")
	}
	web := site(t)
	d := stateDir(t)
	serveInside(t, d, serveOptions{})
	f := startForward(t, d, "-D", "0")
	address := strings.Replace(web.URL, "127.0.0.1", "localhost", 1) + "/"
	dom := outputOf(t, command(t, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--proxy-server=socks5://"+f.addr, "--proxy-bypass-list=<-loopback>",
		"--timeout=60000", "--dump-dom", address))
	want := "heard answer0 answer1 answer2 answer3 answer4 answer5 answer6 answer7 image style websocket100000"
	if !strings.Contains(string(dom), want) {
		t.Errorf("the browser shows %s", dom)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// The tests here put the gateway, as a program, between peers that others wrote: client
// and server of the official TypeScript SDK, on Node.

const peerPatience = 60 * time.Second

// nodePeer returns Node and the path of a program in testdata/node.
func nodePeer(t *testing.T, program string) (node, script string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Node several times")
	}
	node, err := exec.LookPath("node")
	dir, absErr := filepath.Abs("../../testdata/node")
	if absErr != nil {
		t.Fatal(absErr)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "sdk"))
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the peers are missing: %v", err)
		}
		t.Skipf("needs Node and @modelcontextprotocol/sdk ('npm ci --prefix testdata/node'): %v", err)
	}
	return node, filepath.Join(dir, "mcp", program)
}

// causeway is this test binary under the name that makes it the program.
func causeway(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "causeway")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// converse runs the client peer and returns what it saw.
func converse(t *testing.T, config string, args ...string) map[string]any {
	t.Helper()
	node, script := nodePeer(t, "client.mjs")
	ctx, cancel := context.WithTimeout(t.Context(), peerPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "NOTIFICATION_CONFIG="+config, "GORACE="+goRace)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("client: %v\n%s\n%s", err, &stdout, &stderr)
	}
	var seen map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &seen); err != nil {
		t.Fatalf("client said %q: %v\n%s", &stdout, err, &stderr)
	}
	return seen
}

// longRunning starts a program that says one line when it is ready, and returns the
// line. It ends with the test, or by stop.
func longRunning(t *testing.T, name string, args ...string) (line string, p *os.Process) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GORACE="+goRace)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	})
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s is not ready: %v", name, err)
	}
	return strings.TrimSpace(line), cmd.Process
}

// receiver is a webhook that keeps what it got.
type receiver struct {
	url  string
	mu   sync.Mutex
	got  []jsontext.Value
	more chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{more: make(chan struct{}, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got = append(r.got, body)
		r.mu.Unlock()
		r.more <- struct{}{}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// next waits for a notification and returns its data.
func (r *receiver) next(t *testing.T) map[string]any {
	t.Helper()
	select {
	case <-r.more:
	case <-time.After(peerPatience):
		t.Fatal("the webhook was not told")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var v struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(r.got[0], &v, json.RejectUnknownMembers(false)); err != nil {
		t.Fatal(err)
	}
	r.got = r.got[1:]
	return v.Data
}

func (r *receiver) config(tool, args string) string {
	return `{"tool":"` + tool + `","args":` + args + `,"config":{"routes":[{"id":"me","type":"webhook","endpoint":"` + r.url + `/hook","triggers":["completed","failed","cancelled"]}]}}`
}

// peers are the ways from the client to the server: without the gateway and with it.
func peers(t *testing.T, transport, hook string) (direct, through []string) {
	t.Helper()
	node, server := nodePeer(t, "server.mjs")
	self, data := causeway(t), dataDirOf(t)
	if transport == "stdio" {
		gateway := []string{self, "mcp", "--data", data, "--allow-webhook", hook, "--", node, server}
		return []string{"stdio", node, server}, append([]string{"stdio"}, gateway...)
	}
	port, _ := longRunning(t, node, server, "http")
	upstream := "http://127.0.0.1:" + port + "/mcp"
	url, _ := longRunning(t, self, "mcp", "--data", data, "--allow-webhook", hook, "--listen", "127.0.0.1:0", "--upstream", upstream)
	return []string{"http", upstream}, []string{"http", url}
}

func dataDirOf(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAcceptance17PeersNoticeNothing: to the official client the server behind the gateway is the
// server itself: tools, results, progress, cancellation, sampling, prompts, resources and
// errors, over stdio and HTTP (tool-call notifications, 14, 4 and 17).
func TestAcceptance17PeersNoticeNothing(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			direct, through := peers(t, transport, "http://127.0.0.1:1/")
			want := converse(t, "", append([]string{"plain"}, direct...)...)
			got := converse(t, "", append([]string{"plain"}, through...)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the client notices the gateway (-without +with):\n%s", diff)
			}
			if steps, _ := want["progress"].([]any); len(steps) != 3 {
				t.Errorf("the peers themselves made %d steps: the comparison shows nothing", len(steps))
			}
		})
	}
}

// TestMCPPeersAreTold: the official client asks for a notification and gets the
// acknowledgement before the result; the webhook is told.
func TestMCPPeersAreTold(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			hook := newReceiver(t)
			_, through := peers(t, transport, hook.url)
			seen := converse(t, hook.config("echo", `{"text":"x"}`), append([]string{"notify"}, through...)...)
			data := hook.next(t)
			heard, _ := seen["heard"].([]any)
			if len(heard) != 1 || seen["capability"] == nil {
				t.Fatalf("heard %v, capability %v", seen["heard"], seen["capability"])
			}
			params, _ := heard[0].(map[string]any)["params"].(map[string]any)
			if data["trigger"] != "completed" || data["callId"] != params["callId"] || params["acceptedRoutes"] == nil {
				t.Errorf("acknowledged %v, told %v", params, data)
			}
		})
	}
}

// TestAcceptance25ClientLeaves: the official client closes its connection, and over stdio ends its
// server by force, in the middle of a call; the webhook is told all the same.
func TestAcceptance25ClientLeaves(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			hook := newReceiver(t)
			_, through := peers(t, transport, hook.url)
			seen := converse(t, hook.config("wait", `{"ms":6000}`), append([]string{"leave"}, through...)...)
			if seen["acknowledgement"] == nil {
				t.Fatalf("saw %v", seen)
			}
			if data := hook.next(t); data["trigger"] != "completed" {
				t.Errorf("told %v", data)
			}
		})
	}
}

// TestMCPGatewayKilled: a gateway that is killed in the middle of a call it has
// acknowledged has left that call in the store; the next one on the directory tells the
// webhook that it was interrupted.
func TestMCPGatewayKilled(t *testing.T) {
	t.Parallel()
	hook := newReceiver(t)
	node, server := nodePeer(t, "server.mjs")
	self, data := causeway(t), dataDirOf(t)
	port, _ := longRunning(t, node, server, "http")
	gateway := []string{"mcp", "--data", data, "--allow-webhook", hook.url, "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:" + port + "/mcp"}
	url, p := longRunning(t, self, gateway...)
	converse(t, hook.config("wait", `{"ms":60000}`), "leave", "http", url)
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	longRunning(t, self, gateway...)
	told := hook.next(t)
	failure, _ := told["error"].(map[string]any)
	if told["trigger"] != "failed" || failure["category"] != "interrupted" {
		t.Errorf("told %v", told)
	}
}

package cases

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/feature/session"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/simnet"
	"github.com/causeway-ahp/causeway/transport/websocket"
)

// record is everything that somebody wrote down or showed.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// Secrets that are planted in every place that takes one.
const (
	ownToken   = "planted-own-token-of-this-host"
	guestToken = "planted-guest-token-of-another"
	wrongToken = "planted-wrong-token"
	agentToken = "planted-token-for-an-agent"
	prompt     = "planted-prompt"
)

// No token and no prompt is repeated by a log at its most talkative, by what is
// measured, by an error, or to another client (28).
func TestNothingRepeatsASecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := new(record)
		log := slog.New(slog.NewTextHandler(seen, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w := guarded(t, log)
		tell := func(what string, err error) {
			if err == nil {
				t.Errorf("%s succeeded", what)
			}
			fmt.Fprintln(seen, what, err)
		}
		c := w.clientWith(client.Options{ClientID: "laptop", Log: log, Dialer: w.net.Dialer("laptop")}, "?tkn="+ownToken)
		guest := w.clientWith(client.Options{
			ClientID: "guest", Log: log, Dialer: w.net.Dialer("guest"),
			Header: http.Header{"Authorization": {"Bearer " + guestToken}},
		}, "")
		observer := value(websocket.Dial(t.Context(), hostURL+"?tkn="+guestToken, websocket.DialOptions{Dialer: w.net.Dialer("observer")}))(
			t, func(c *websocket.Conn) { _ = c.Close(1000, "") })
		go func() {
			for m, err := observer.Read(); err == nil; m, err = observer.Read() {
				fmt.Fprintf(seen, "%s\n", m)
			}
		}()
		for _, query := range []string{"?tkn=" + wrongToken, "?token=" + wrongToken, "", "?tkn=" + ownToken + "&token=" + wrongToken} {
			_, err := client.Dial(t.Context(), hostURL+query, client.Options{Log: log, Dialer: w.net.Dialer("thief")})
			tell("dial", err)
		}
		chat := w.chat(c)
		if err := observer.Write([][]byte{[]byte(initialize("observer", "ahp-root://"))}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		authenticate := map[string]string{"channel": "ahp-root://", "resource": "https://api.example", "token": agentToken}
		fmt.Fprintln(seen, guest.Call(t.Context(), "authenticate", authenticate, nil))
		tell("a call", guest.Call(t.Context(), "x-"+strings.Repeat("y", 50), authenticate, nil))
		w.turn(chat, prompt)
		w.link("laptop").Cut()
		waitState(t, c, client.Reconnecting)
		waitState(t, c, client.Live)
		fmt.Fprintln(seen, c.Status(), guest.Status(), chat.Err())
		for _, path := range []string{"/metrics", "/healthz", "/?tkn=" + wrongToken, "/no/such/" + wrongToken} {
			fmt.Fprintln(seen, w.get(path))
		}
		synctest.Wait()
		for _, secret := range []string{ownToken, guestToken, wrongToken, agentToken, prompt} {
			if line := lineWith(seen.String(), secret); line != "" {
				t.Errorf("%q is repeated: %s", secret, line)
			}
		}
		for _, expected := range []string{"reason=token", "client reconnected", "causeway_connections", `"root/sessionSummaryChanged"`, "403"} {
			if !strings.Contains(seen.String(), expected) {
				t.Errorf("nothing was searched that holds %q", expected)
			}
		}
	})
}

func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return line
		}
	}
	return ""
}

// guarded is a world behind the real door, with tokens.
func guarded(t *testing.T, log *slog.Logger) *guardedWorld {
	w := &guardedWorld{world{t: t, net: simnet.New(1), agents: &troupe{play: talker(kilobytes)}}}
	f := session.New(session.Options{Providers: []agent.Provider{w.agents}, Log: log})
	w.h = must(host.New(context.Background(), host.Options{Features: []host.Feature{f}, Log: log}))(t)
	e := must(endpoint.New(context.Background(), w.h, endpoint.Options{
		Tokens: func() []endpoint.Token {
			return []endpoint.Token{endpoint.NewToken(ownToken, host.Local), endpoint.NewToken(guestToken, "guest")}
		},
		AllowHosts: []string{"host"}, Log: log,
	}))(t)
	listener := must(w.net.Listen(hostAddr))(t)
	var serving sync.WaitGroup
	serving.Go(func() { _ = e.Serve(listener) })
	t.Cleanup(func() {
		if err := e.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		serving.Wait()
	})
	return w
}

type guardedWorld struct{ world }

func (w *guardedWorld) clientWith(o client.Options, query string) *client.Client {
	w.t.Helper()
	return value(client.Dial(w.t.Context(), hostURL+query, o))(w.t, func(c *client.Client) { _ = c.Close() })
}

// get asks the door for a path with the guest's token, and returns all it says.
func (w *guardedWorld) get(path string) string {
	w.t.Helper()
	r := must(http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+hostAddr+path, nil))(w.t)
	r.Header.Set("Authorization", "Bearer "+guestToken)
	asking := &http.Transport{DialContext: w.net.Dialer("browser"), DisableKeepAlives: true}
	answer := must((&http.Client{Transport: asking, Timeout: time.Minute}).Do(r))(w.t)
	defer answer.Body.Close()
	return fmt.Sprint(answer.Status, answer.Header, string(must(io.ReadAll(answer.Body))(w.t)))
}

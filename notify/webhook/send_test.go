package webhook

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/notify"
)

const endpoint = "https://example.com/hook"

func TestAttemptSendsOnePost(t *testing.T) {
	w := newWorld(t)
	r := &notify.Route{ID: "a", Type: Name, Endpoint: endpoint, Headers: []notify.Header{{Name: "Authorization", SecretRef: "auth"}}}
	m := notify.Message{ID: "ntf_x", CallID: "tc_y", Attempt: 3, Body: []byte(`{"a":1}`), Trace: "00-trace"}
	out := w.hook.Attempt(t.Context(), r, m, keys{[]notify.Secret{testKey}, map[string]notify.Secret{"auth": notify.NewSecret("Bearer x")}})
	if out.Class != notify.ClassDelivered || out.Status != 200 {
		t.Errorf("outcome %+v", out)
	}
	got := w.last()
	if w.count() != 1 || got.method != "POST" || string(got.body) != `{"a":1}` {
		t.Errorf("%d requests, last %s %s", w.count(), got.method, got.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Webhook-Id": "ntf_x", "X-Causeway-Call-Id": "tc_y", "X-Causeway-Attempt": "3",
		"Traceparent": "00-trace", "Authorization": "Bearer x", "Cookie": "", "User-Agent": "causeway-webhook/1",
	} {
		if got := got.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if sig := got.header.Get("Webhook-Signature"); !strings.HasPrefix(sig, "v1,") {
		t.Errorf("signature %q", sig)
	}
}

func TestAcceptance10AnswersAreClassified(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	for _, tc := range []struct {
		status  int
		class   notify.Class
		disable bool
		pause   bool
	}{
		{200, notify.ClassDelivered, false, false}, {202, notify.ClassDelivered, false, false}, {204, notify.ClassDelivered, false, false},
		{301, notify.ClassTransient, false, false}, {304, notify.ClassTransient, false, false},
		{400, notify.ClassSoft, false, false}, {401, notify.ClassSoft, false, false}, {404, notify.ClassSoft, false, false},
		{408, notify.ClassTransient, false, false}, {410, notify.ClassPermanent, true, false}, {413, notify.ClassPermanent, false, false},
		{425, notify.ClassTransient, false, false}, {429, notify.ClassTransient, false, true},
		{500, notify.ClassTransient, false, false}, {502, notify.ClassTransient, false, false}, {503, notify.ClassTransient, false, true},
		{504, notify.ClassTransient, false, false}, {599, notify.ClassTransient, false, false},
	} {
		w.answer(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "120")
			rw.WriteHeader(tc.status)
		})
		out := w.send(endpoint, "{}")
		if out.Class != tc.class || out.Disable != tc.disable || out.PauseTarget != tc.pause || out.Status != tc.status {
			t.Errorf("%d: %+v, want %+v", tc.status, out, tc)
		}
		if wait := out.RetryAfter.Sub(now); tc.class == notify.ClassTransient && (wait < 119*time.Second || wait > 150*time.Second) {
			t.Errorf("%d: again after %v, want 120 s", tc.status, wait)
		}
	}
}

func TestAcceptance10RetryAfterForms(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "-5": 0, "1.5": 0, "soon": 0, "12 0": 0,
		"99999999999999999999":          366 * 24 * time.Hour,
		"Tue, 01 Dec 2026 12:10:00 GMT": 10 * time.Minute,
		"Tue, 01 Dec 2026 11:00:00 GMT": 0,
		"Tuesday":                       0,
	} {
		got := retryAfter(value, now)
		if got.IsZero() {
			got = now
		}
		if got.Sub(now) != want {
			t.Errorf("%q: %v, want %v", value, got.Sub(now), want)
		}
	}
}

func TestAbortMessage(t *testing.T) {
	w := newWorld(t)
	for status, want := range map[int]bool{500: true, 400: true, 200: false} {
		w.answer(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Webhook-Delivery", "abort-message")
			rw.WriteHeader(status)
		})
		if out := w.send(endpoint, "{}"); out.Abort != want {
			t.Errorf("%d: abort %v, want %v", status, out.Abort, want)
		}
	}
}

// TestRedirectsAreNotFollowed is case 118.
func TestRedirectsAreNotFollowed(t *testing.T) {
	w := newWorld(t)
	w.names["evil.example"] = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, location := range []string{
			"http://169.254.169.254/latest", "https://evil.example/", "https://127.0.0.1/", "http://example.com/", "https://example.com/other", "/other", "//example.com:8443/",
		} {
			before := w.count()
			w.answer(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Location", location)
				rw.WriteHeader(status)
			})
			if out := w.send(endpoint, "{}"); out.Class != notify.ClassTransient || out.Category != "http_3xx" {
				t.Errorf("%d to %s: %+v", status, location, out)
			}
			if got := w.count() - before; got != 1 {
				t.Errorf("%d to %s: %d requests, want 1", status, location, got)
			}
		}
	}
	for _, addr := range w.dials() {
		if addr != publicAddr.String()+":443" {
			t.Errorf("dialled %s", addr)
		}
	}
}

func TestFailures(t *testing.T) {
	w := newWorld(t)
	w.names["refuses.example"] = []netip.Addr{netip.MustParseAddr("93.184.215.15")}
	w.names["other.example"] = []netip.Addr{publicAddr} // the certificate is not for it
	for endpoint, want := range map[string]notify.Outcome{
		"https://refuses.example/": {Class: notify.ClassTransient, Category: categoryRefused},
		"https://unknown.example/": {Class: notify.ClassTransient, Category: categoryNetwork},
		"https://other.example/":   {Class: notify.ClassPermanent, Category: categoryTLS},
	} {
		if out := w.send(endpoint, "{}"); out != want {
			t.Errorf("%s: %+v, want %+v", endpoint, out, want)
		}
	}
	r := &notify.Route{ID: "a", Type: Name, Endpoint: endpoint}
	if out := w.hook.Attempt(t.Context(), r, notify.Message{ID: "ntf_a"}, keys{}); out.Category != categorySecret || out.Class != notify.ClassSoft {
		t.Errorf("without a key: %+v", out)
	}
	r.Headers = []notify.Header{{Name: "X-A", SecretRef: "auth"}}
	broken := keys{[]notify.Secret{testKey}, map[string]notify.Secret{"auth": notify.NewSecret("a\r\nwebhook-id: b")}}
	if out := w.hook.Attempt(t.Context(), r, notify.Message{ID: "ntf_a"}, broken); out.Class != notify.ClassSoft {
		t.Errorf("a header with a line break: %+v", out)
	}
	if w.count() != 0 {
		t.Errorf("%d requests arrived, want none", w.count())
	}
}

func TestUnverifiedCertificate(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.RootCAs = nil })
	if out := w.send(endpoint, "{}"); out.Class != notify.ClassPermanent || out.Category != categoryTLS || w.count() != 0 {
		t.Errorf("outcome %+v, %d requests", out, w.count())
	}
}

// TestNothingOfAResponseComesBack sends far more than anybody reads.
func TestNothingOfAResponseComesBack(t *testing.T) {
	w := newWorld(t)
	w.answer(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = rw.Write([]byte(strings.Repeat("internal secret ", 1<<14)))
	})
	if out := w.send(endpoint, "{}"); strings.Contains(fmt.Sprintf("%+v", out), "internal") || out.Category != "http_4xx" {
		t.Errorf("outcome %+v", out)
	}
}

// TestAttemptEndsWithItsContext lets a server take a connection and say nothing.
func TestAttemptEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.server.Close()
		defer w.hook.Close()
		w.net.Link("causeway", publicAddr.String()+":443").Stall()
		start := time.Now()
		out := w.send(endpoint, "{}")
		if took := time.Since(start); out.Class != notify.ClassTransient || out.Category != categoryTimeout || took != tlsTimeout {
			t.Errorf("outcome %+v after %v", out, took)
		}
		w.net.Link("causeway", publicAddr.String()+":443").Resume()
	})
}

func TestChallenge(t *testing.T) {
	w := newWorld(t)
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, string)
		want   notify.Class
	}{
		"echoes":            {func(rw http.ResponseWriter, nonce string) { fmt.Fprintf(rw, `{"nonce":%q}`, nonce) }, notify.ClassDelivered},
		"says yes":          {func(rw http.ResponseWriter, _ string) { fmt.Fprint(rw, "ok") }, notify.ClassPermanent},
		"echoes an old one": {func(rw http.ResponseWriter, _ string) { fmt.Fprint(rw, "AAAAAAAAAAAAAAAAAAAAAAAAAA") }, notify.ClassPermanent},
		"refuses, echoing": {func(rw http.ResponseWriter, nonce string) {
			rw.WriteHeader(http.StatusForbidden)
			fmt.Fprint(rw, nonce)
		}, notify.ClassPermanent},
		"is down": {func(rw http.ResponseWriter, _ string) { rw.WriteHeader(http.StatusBadGateway) }, notify.ClassTransient},
	} {
		w.answer(func(rw http.ResponseWriter, _ *http.Request) {
			body := string(w.last().body)
			_, nonce, _ := strings.Cut(body, `"nonce":"`)
			nonce, _, _ = strings.Cut(nonce, `"`)
			tc.answer(rw, nonce)
		})
		r := &notify.Route{ID: "a", Type: Name, Endpoint: endpoint}
		if out := w.hook.Verify(t.Context(), r, keys{signing: []notify.Secret{testKey}}); out.Class != tc.want {
			t.Errorf("%s: %+v, want %s", name, out, tc.want)
		}
		if w.last().header.Get("Webhook-Signature") == "" {
			t.Errorf("%s: the challenge was not signed", name)
		}
	}
}

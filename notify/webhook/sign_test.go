package webhook

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json"
)

var publicTime = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// httpsOn serves the world's requests on another address with its certificate.
type httpsOn struct {
	ln net.Listener
	w  *world
}

func (s *httpsOn) start(t *testing.T) {
	t.Helper()
	server := &httptest.Server{Listener: s.ln, Config: &http.Server{Handler: s.w}}
	server.StartTLS() // of the same built-in certificate
	t.Cleanup(server.Close)
}

// TestAcceptance12PublicVector is the test vector that the reference libraries of
// Standard Webhooks share.
func TestAcceptance12PublicVector(t *testing.T) {
	got, err := signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, []byte(`{"test": 2432232314}`), []notify.Secret{testKey}, nil)
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestAcceptance12RotationAndServerKey(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ParseServerKey(notify.NewSecret("whsk_" + base64.StdEncoding.EncodeToString(private)))
	if err != nil {
		t.Fatal(err)
	}
	if want := "whpk_" + base64.StdEncoding.EncodeToString(public); server.Public() != want {
		t.Errorf("public key %s, want %s", server.Public(), want)
	}
	fresh := NewKey()
	got, err := signature("a", 1, []byte("{}"), []notify.Secret{fresh, testKey}, server.private)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(got, " ")
	if len(parts) != 3 {
		t.Fatalf("signature %s, want three parts", got)
	}
	for i, key := range []notify.Secret{fresh, testKey} {
		if alone, _ := signature("a", 1, []byte("{}"), []notify.Secret{key}, nil); parts[i] != alone {
			t.Errorf("part %d is %s, want %s", i, parts[i], alone)
		}
	}
	sig, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(parts[2], "v1a,"))
	if err != nil || !ed25519.Verify(public, []byte("a.1.{}"), sig) {
		t.Errorf("part %s does not verify: %v", parts[2], err)
	}
}

func TestKeys(t *testing.T) {
	w := New(Options{})
	for text, want := range map[string]bool{
		testKey.Reveal():                   true,
		NewKey().Reveal():                  true,
		"whsec_":                           false,
		"":                                 false,
		"whsec_c2hvcnQ=":                   false,
		"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": false,
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 64)): true,
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)): false,
		"whsec_###": false,
	} {
		if got := w.ValidKey(notify.NewSecret(text)); got != want {
			t.Errorf("key of %d characters: %v, want %v", len(text), got, want)
		}
	}
}

// oddBodies are bodies that no second serialisation would give again.
var oddBodies = []string{
	`{"test": 2432232314}`, `{"html":"<a href=\"x\">&amp;</a>"}`, "{\"sep\":\"\u2028\u2029\"}", `{"emoji":"😀","esc":"\u00e9é"}`,
	`{"n":1.0,"e":1e3,"big":9007199254740993,"neg":-0}`, "{ \"spaces\" :\t[ ] }\n",
}

// TestAcceptance12IndependentLibrary lets the npm library standardwebhooks verify
// what arrived: raw bytes, signed with one key, and while keys rotate with two.
// It is case 121, and 123 with three attempts of one item.
func TestAcceptance12IndependentLibrary(t *testing.T) {
	node := nodeWith(t, "standardwebhooks")
	w := newWorld(t)
	fresh := NewKey()
	type sample struct {
		Secrets []string          `json:"secrets"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"` // base64
	}
	var samples []sample
	for _, body := range oddBodies {
		for _, signing := range [][]notify.Secret{{testKey}, {fresh, testKey}} {
			for attempt := range 3 {
				m := notify.Message{ID: "ntf_a", CallID: "tc_a", Attempt: attempt + 1, Body: []byte(body)}
				out := w.hook.Attempt(t.Context(), &notify.Route{Type: Name, Endpoint: endpoint}, m, keys{signing: signing})
				if out.Class != notify.ClassDelivered {
					t.Fatalf("not delivered: %+v", out)
				}
				got := w.last()
				if !bytes.Equal(got.body, []byte(body)) {
					t.Errorf("sent %q, want %q", got.body, body)
				}
				s := sample{Headers: map[string]string{}, Body: base64.StdEncoding.EncodeToString(got.body)}
				for _, k := range signing {
					s.Secrets = append(s.Secrets, k.Reveal())
				}
				for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
					s.Headers[name] = got.header.Get(name)
				}
				samples = append(samples, s)
			}
		}
	}
	input, err := json.Marshal(samples)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", verifyScript)
	cmd.Dir = nodeDir
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	if want := "verified 54 refused 54\n"; err != nil || string(out) != want {
		t.Errorf("node: %v, %q, want %q", err, out, want)
	}
}

// verifyScript verifies every sample with each of its keys, and must refuse it
// when a byte is different.
const verifyScript = `
const { Webhook } = require("standardwebhooks");
const samples = JSON.parse(require("fs").readFileSync(0, "utf8"));
let verified = 0, refused = 0;
for (const s of samples) {
  const body = Buffer.from(s.body, "base64").toString("utf8");
  for (const secret of s.secrets) {
    new Webhook(secret).verify(body, s.headers);
    verified++;
    try { new Webhook(secret).verify(body + " ", s.headers); } catch { refused++; }
  }
}
console.log("verified " + verified + " refused " + refused);
`

var nodeDir = filepath.Join("..", "..", "testdata", "node")

// nodeWith returns the path of Node. Without it, or without a package, the test
// is skipped by name, but not where everything is installed.
func nodeWith(t *testing.T, pkg string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(nodeDir, "node_modules", pkg))
	}
	switch {
	case err == nil:
		return node
	case os.Getenv("CI") == "true":
		t.Fatalf("the peers that run on Node are missing: %v", err)
	}
	t.Skipf("needs Node and %s ('npm ci --prefix testdata/node'): %v", pkg, err)
	return ""
}

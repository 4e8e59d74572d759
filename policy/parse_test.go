package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/go-json-experiment/json/jsontext"
)

const office = `
principals:
  alice:
    sessions: all
    see:
      - "*"
    notify: [bob]
    call:
      - owner: bob
        where: {protocol: git-object-reader, version: 1, public: true}
      - carol
    forward: ["localhost:3000", "10.0.0.0/8:*"]
  bob:
    sessions: read
    register: false
  robot:
    sessions: none
    forward: []
  plain:
default:
  see: [alice]
`

func parse(t testing.TB, text string) *Rules {
	t.Helper()
	r, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const git = `{"protocol":"git-object-reader","version":1.0,"public":true,"more":[1]}`

func TestServices(t *testing.T) {
	r := parse(t, office)
	tests := []struct {
		what, who, owner, metadata string
		want                       bool
	}{
		{"see", "alice", "alice", `{}`, true},
		{"see", "alice", "nobody", `{}`, true},
		{"see", "bob", "alice", `{}`, false},
		{"see", "bob", "bob", `{}`, true},
		{"see", "plain", "alice", `{}`, false},
		{"see", "unnamed", "alice", `{}`, true},
		{"see", "unnamed", "bob", `{}`, false},
		{"notify", "alice", "bob", `{}`, true},
		{"notify", "alice", "carol", `{}`, false},
		{"notify", "robot", "robot", `{}`, true},
		{"notify", "unnamed", "alice", `{}`, false},
		{"call", "alice", "carol", `{}`, true},
		{"call", "alice", "bob", git, true},
		{"call", "alice", "bob", `{"protocol":"git-object-reader","version":1}`, false},
		{"call", "alice", "bob", `{"protocol":"git","version":1,"public":true}`, false},
		{"call", "alice", "bob", `{"protocol":"git-object-reader","version":"1","public":true}`, false},
		{"call", "alice", "bob", `{"protocol":["git-object-reader"],"version":1,"public":"true"}`, false},
		{"call", "bob", "alice", git, false},
		{"register", "alice", "", `{}`, true},
		{"register", "bob", "", `{}`, false},
		{"register", "unnamed", "", `{}`, true},
	}
	for _, tt := range tests {
		who, owner, metadata := host.Principal(tt.who), host.Principal(tt.owner), jsontext.Value(tt.metadata)
		ask := map[string]func() bool{
			"see":      func() bool { return r.MaySee(who, owner, metadata) },
			"notify":   func() bool { return r.MayNotify(who, owner, metadata) },
			"call":     func() bool { return r.MayCall(who, owner, metadata) },
			"register": func() bool { return r.MayRegister(who, metadata) },
		}
		if got := ask[tt.what](); got != tt.want {
			t.Errorf("%s %s %s's %s: got %v, want %v", tt.who, tt.what, tt.owner, tt.metadata, got, tt.want)
		}
	}
}

func TestSessions(t *testing.T) {
	r := parse(t, office)
	const session, services = "ahp-session:/s", ahp.ClientServicesURI
	tests := []struct {
		who     host.Principal
		op      host.Op
		channel ahp.URI
		want    bool
	}{
		{"alice", host.OpCreate, session, true},
		{"unnamed", host.OpDispatch, session, true},
		{"bob", host.OpSee, session, true},
		{"bob", host.OpDispatch, session, false},
		{"bob", host.OpCreate, session, false},
		{"bob", host.OpDispose, session, false},
		{"robot", host.OpSee, session, false},
		{"robot", host.OpSee, "ahp-chat:/c", false},
		{"robot", host.OpSee, session + "/annotations", false},
		{"robot", host.OpSee, ahp.RootURI, true},
		{"robot", host.OpSee, services, true},
		{"robot", host.OpDispatch, ahp.RootURI, false},
	}
	for _, tt := range tests {
		if got := r.Allow(tt.who, tt.op, tt.channel); got != tt.want {
			t.Errorf("%s %s %s: got %v, want %v", tt.who, tt.op, tt.channel, got, tt.want)
		}
	}
}

func TestForward(t *testing.T) {
	r := parse(t, office)
	for who, want := range map[host.Principal]string{
		"alice": "[localhost:3000 10.0.0.0/8:*] true", "robot": "[] true", "bob": "[] false", "unnamed": "[] false",
	} {
		list, ok := r.Forward(who)
		if got := fmt.Sprint(list, ok); got != want {
			t.Errorf("%s: got %s, want %s", who, got, want)
		}
	}
}

// TestErrors: the message says where and what to write instead.
func TestErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"not YAML", "principals: [", "not a policy"},
		{"a list", "- alice", "not a policy"},
		{"an unknown key", "principals: {alice: {sees: [bob]}}", `unknown field "sees"`},
		{"an unknown key at the top", "principal: {}", `unknown field "principal"`},
		{"an unknown key of a grant", "principals: {alice: {see: [{owner: bob, when: {}}]}}", `unknown field "when"`},
		{"a name twice", "principals:\n  a: {}\n  a: {}\n", "a"},
		{"an unknown access", "principals: {alice: {sessions: write}}", `principal "alice": sessions: "write" is none of all, read, none`},
		{"no owner", "principals: {alice: {see: [{where: {a: b}}]}}", "names no owner"},
		{"an owner that is nothing", "principals: {alice: {see: [\"\"]}}", "names no owner"},
		{"a list to compare", "principals: {alice: {see: [{owner: bob, where: {a: [1]}}]}}", "where a: only text, numbers and booleans"},
		{"used but not seen", "principals: {alice: {see: [carol], call: [bob]}}", `call names "bob", whose services it may not see: add "bob" to see`},
		{"everybody used, one seen", "principals: {alice: {see: [carol], notify: [\"*\"]}}", `add "*" to see`},
		{"a destination", "default: {forward: [nowhere]}", `default: forward: "nowhere" names no port`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestDefaultIsForTheGuests: it does not lock out the owner of the host, who can be
// named like anybody else.
func TestDefaultIsForTheGuests(t *testing.T) {
	r := parse(t, "default: {sessions: none, register: false, forward: []}")
	if _, replaced := r.Forward(host.Local); !r.Allow(host.Local, host.OpCreate, "ahp-session:/s") || !r.MayRegister(host.Local, nil) || replaced {
		t.Error("the default is applied to the owner")
	}
	if r.Allow("guest", host.OpSee, "ahp-session:/s") || r.MayRegister("guest", nil) {
		t.Error("the default is not applied to a guest")
	}
	if parse(t, "principals: {local: {sessions: read}}").Allow(host.Local, host.OpCreate, "ahp-session:/s") {
		t.Error("the owner cannot be named")
	}
}

func TestEmptyPolicyIsTheDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "principals:\n", "principals: {}\ndefault:\n"} {
		r := parse(t, text)
		if !r.Allow("a", host.OpCreate, "ahp-session:/s") || !r.MayRegister("a", nil) || !r.MayCall("a", "a", nil) || r.MaySee("a", "b", nil) {
			t.Errorf("%q is another policy than none", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(office)
	f.Add("principals: {a: {see: [{owner: '*', where: {n: 0x10, f: 1e3, b: no}}]}}")
	f.Add("a: &a [*a, *a]")
	f.Add("default: {see: *x}")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse([]byte(text))
		if err != nil {
			return
		}
		// Whatever it says, one's own services are one's own, and nobody uses
		// what it cannot see when the grant names no metadata.
		if !r.MaySee("a", "a", nil) || !r.MayCall("b", "b", nil) {
			t.Error("a principal does not see its own services")
		}
		for _, who := range []host.Principal{"a", "b", "alice"} {
			if r.Allow(who, host.OpDispatch, ahp.RootURI) && !r.Allow(who, host.OpSee, "ahp-session:/s") {
				t.Errorf("%s may change what it may not see", who)
			}
		}
	})
}

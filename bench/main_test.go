package main

import (
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/internal/measure"
)

// TestTheTableIsWhole measures next to nothing, with every peer, and looks at the
// shape of what comes out: each number of the design has its row, with its goal and
// with its peer, measured or named as missing.
func TestTheTableIsWhole(t *testing.T) {
	r, err := measureAll(t.Context(), size{rounds: 1, mib: 1, share: "0.001", quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(r.Version, "causeway ") {
		t.Errorf("the version is %q", r.Version)
	}
	for _, want := range []struct{ name, goal, peer string }{
		{"action to 1,000 subscribers, alone", "<= 5 us", ""},
		{"action to 1,000 subscribers, 100 queued", "<= 1 us", ""},
		{"envelope of", "<= 0.5 us", ""},
		{"chat delta reduced, new chat", "<= 150 ns", ""},
		{"chat delta reduced, 1,000 turns", "<= 150 ns", ""},
		{"dispatch to echo at 1/s, p50", "", ""},
		{"dispatch to echo at 100/s, p99", "", ""},
		{"dispatch to echo at 10,000/s, p99", "", ""},
		{"idle connection, of", "<= 8 KB", ""},
		{"start to READY", "<= 100 ms", ""},
		{"actions ordered and in the file", ">= 100,000", ""},
		{"notifications of 200 B", ">= 1.3 x", "NATS"},
		{"notifications of 200 B, CPU", "<= 1.2 us", "NATS"},
		{"notifications of 16 KiB", "", "NATS"},
		{"idle notification of 200 B, p99", "<= 1.0 x", "NATS"},
		{"calls of 200 B", "", "NATS"},
		{"1 stream down", ">= 1.0 x ssh", "ssh"},
		{"1 stream up", ">= 1.2 x yamux", "yamux"},
		{"8 streams up", "", "copy"},
		{"connect and first byte, p99", "<= 2,000 us", "ssh"},
		{"messages of 200 B sent", ">= 1.3 x", "gorilla"},
		{"idle connection", "<= 1.0 x", "coder"},
		{"trigger to request, beside 1,000 dead endpoints, p99", "<= 50 ms", ""},
	} {
		if !hasRow(r.Figures, want.name, want.goal, want.peer) {
			t.Errorf("no row begins with %q, has the goal %q and the peer %q", want.name, want.goal, want.peer)
		}
	}
}

// hasRow reports whether there is such a figure, measured or with the reason why
// its peer is missing.
func hasRow(figures []*measure.Figure, name, goal, peer string) bool {
	for _, f := range figures {
		if strings.HasPrefix(f.Name, name) && string(f.Goal) == goal && strings.HasPrefix(f.Peer, peer) {
			return peer == "" || f.Ratio > 0 || f.Note != ""
		}
	}
	return false
}

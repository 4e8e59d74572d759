package mcp

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/notify"
)

// TestLastWordsOfAServer: what a server says when its input has ended reaches the
// client, although both end then.
func TestLastWordsOfAServer(t *testing.T) {
	const lines = 500
	script := `cat >/dev/null; i=0; while [ $i -lt 500 ]; do echo "{\"jsonrpc\":\"2.0\",\"method\":\"m$i\"}"; i=$((i+1)); done`
	e := newEngine(t, notify.Options{}, &hookType{})
	var out slowBuffer
	g := Gateway{Options: Options{Engine: e}, Command: []string{"sh", "-c", script}, ClientIn: strings.NewReader(""), ClientOut: &out}
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != lines {
		t.Fatalf("%d of %d lines arrived", n, lines)
	}
}

// slowBuffer is a client that is behind what the server says.
type slowBuffer struct{ bytes.Buffer }

func (b *slowBuffer) Write(p []byte) (int, error) {
	time.Sleep(50 * time.Microsecond)
	return b.Buffer.Write(p)
}

package host

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"golang.org/x/tools/txtar"
)

// panicLog fails the test when the host reports a contained panic.
type panicLog struct{ t *testing.T }

func (l panicLog) Enabled(context.Context, slog.Level) bool { return true }
func (l panicLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l panicLog) WithGroup(string) slog.Handler            { return l }

func (l panicLog) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "panic") {
		r.Attrs(func(a slog.Attr) bool { l.t.Errorf("%s: %s=%v", r.Message, a.Key, a.Value); return true })
	}
	return nil
}

// FuzzConn sends lines to a connection that is initialized and to one that is
// not. Nothing a peer sends may panic, be answered with what is no message, or
// cost another client anything.
func FuzzConn(f *testing.F) {
	n := 0
	err := fs.WalkDir(os.DirFS("testdata/trace"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		archive, err := txtar.ParseFile("testdata/trace/" + name)
		if err != nil {
			return err
		}
		var lines []byte
		for _, section := range archive.Files {
			if strings.HasPrefix(section.Name, "send ") {
				lines = append(lines, section.Data...)
			}
		}
		f.Add(lines)
		n++
		return nil
	})
	if err != nil || n == 0 {
		f.Fatalf("%d seeds: %v", n, err)
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		synctest.Test(t, func(t *testing.T) { fuzzConn(t, lines) })
	})
}

func fuzzConn(t *testing.T, lines []byte) {
	w := newWorld(t, Options{Log: slog.New(panicLog{t}), Limits: Limits{SubscriptionsPerConn: 3, PageSize: 2, EffectsPerChannel: 2}})
	w.lab.tame = true
	for _, do := range []struct{ verb, args string }{
		{"session", "ahp-session:/s"}, {"chat", "ahp-chat:/c ahp-session:/s"}, {"turns", "ahp-chat:/c 2"}, {"session", "ahp-session:/s2"},
	} {
		if err := w.Do(do.verb, strings.Fields(do.args), ""); err != nil {
			t.Fatal(err)
		}
	}
	bystander, early, late := w.peer("b"), w.peer("a"), w.peer("d")
	// Whoever names the bystander's client id takes its place, as it must be.
	bystander.initialize("the one whom no line names", "ahp-session:/s", "ahp-chat:/c", "ahp-root://")
	late.initialize("d", "ahp-session:/s", "ahp-chat:/c")
	bystander.take()
	for line := range bytes.Lines(lines) {
		msg := bytes.ToValidUTF8(bytes.TrimSpace(line), nil)
		for _, p := range []*peer{early, late} {
			_ = p.conn.Write([][]byte{msg}) // it may have been closed by now
		}
	}
	time.Sleep(time.Minute)
	for _, p := range []*peer{early, late, bystander} {
		for _, msg := range p.take() {
			if _, err := jsonrpc.Scan([]byte(msg)); err != nil {
				t.Errorf("the host sent %q: %v", msg, err)
			}
		}
	}
	bystander.send(`{"jsonrpc":"2.0","id":"still here","method":"ping","params":{"channel":"ahp-root://"}}`)
	if got := bystander.take(); len(got) != 1 || !strings.Contains(got[0], `"still here"`) {
		t.Errorf("the bystander got %q", got)
	}
}

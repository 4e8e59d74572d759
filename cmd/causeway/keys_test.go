package main

import (
	"bytes"
	"crypto/sha256"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
)

func TestKeysFollowTheirFile(t *testing.T) {
	d := stateDir(t)
	var log bytes.Buffer
	k, err := newKeys("own", d.TokensPath(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := func(names ...string) {
		t.Helper()
		var got []string
		for _, tok := range k.valid() {
			got = append(got, string(tok.Principal))
		}
		if strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("valid are %q, want %q", got, names)
		}
	}
	want("local")
	file := datadir.TokensAt(d.TokensPath())
	token, err := file.Add(t.Context(), "guest", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	want("local", "guest")
	if got := k.valid()[1].Hash; got != sha256.Sum256([]byte(token)) {
		t.Errorf("hash %x is not that of the token", got)
	}
	if err := os.WriteFile(d.TokensPath(), []byte("tokens: damaged by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("local")
	want("local")
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, &log)
	}
	if err := os.Remove(d.TokensPath()); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Add(t.Context(), "second", time.Now()); err != nil {
		t.Fatal(err)
	}
	want("local", "second")
	if err := file.Remove(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	want("local")
}

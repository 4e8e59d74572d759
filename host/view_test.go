package host

import (
	"testing"

	"pgregory.net/rapid"
)

// TestCursors: a cursor opens in its scope only, and not when a bit of it has
// changed.
func TestCursors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := cursors{key: []byte(rapid.StringN(1, 32, -1).Draw(t, "key"))}
		scope, value := rapid.String().Draw(t, "scope"), rapid.String().Draw(t, "value")
		cursor := c.seal(scope, value)
		if got, ok := c.open(scope, cursor); !ok || got != value {
			t.Fatalf("open: %q, %v, want %q", got, ok, value)
		}
		if _, ok := c.open(scope+"x", cursor); ok {
			t.Fatal("opened in another scope")
		}
		if _, ok := (cursors{key: []byte("another key of another process")}).open(scope, cursor); ok {
			t.Fatal("opened by another host")
		}
		forged := []byte(cursor)
		i := rapid.IntRange(0, len(forged)-1).Draw(t, "at")
		forged[i] ^= 1
		if got, ok := c.open(scope, string(forged)); ok && got != value {
			t.Fatalf("a forged cursor opened as %q", got)
		}
	})
}

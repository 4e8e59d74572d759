package datadir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOwnToken(t *testing.T) {
	d := mustOpen(t)
	first, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	if len(first) < 26 || strings.Trim(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		t.Errorf("token %q is not 130 bits in URL-safe characters", first)
	}
	if again, err := d.Token(); again != first || err != nil {
		t.Errorf("the second time it is %q, %v", again, err)
	}
	if got := mode(t, d.file(tokenName)); got != 0o600 {
		t.Errorf("the file has mode %o, want 600", got)
	}
	other := mustOpen(t)
	if second, err := other.Token(); second == first || err != nil {
		t.Errorf("another directory has the token %q, %v", second, err)
	}
}

func TestOwnTokenIsMadeOnce(t *testing.T) {
	d := mustOpen(t)
	got := make([]string, 8)
	var makers sync.WaitGroup
	for i := range got {
		makers.Go(func() {
			var err error
			if got[i], err = d.Token(); err != nil {
				t.Error(err)
			}
		})
	}
	makers.Wait()
	for _, token := range got {
		if token != got[0] || token == "" {
			t.Fatalf("several tokens were made: %q", got)
		}
	}
	left, err := filepath.Glob(d.file("*token*"))
	if err != nil || len(left) != 1 {
		t.Errorf("files %q, %v, want the token alone", left, err)
	}
}

func TestOwnTokenThatCannotBeUsed(t *testing.T) {
	const secret = "SECRETSECRETSECRETSECRETAB"
	tests := []struct {
		name, text string
		mode       os.FileMode
		want       error
	}{
		{"readable", secret, 0o644, ErrExposed},
		{"readable for the group", secret, 0o640, ErrExposed},
		{"short", secret[:8], 0o600, nil},
		{"empty", "", 0o600, nil},
		{"two lines", secret + "\n" + secret, 0o600, nil},
		{"not URL-safe", secret + "&tkn=1", 0o600, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := mustOpen(t)
			if err := os.WriteFile(d.file(tokenName), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(d.file(tokenName), tt.mode); err != nil {
				t.Fatal(err)
			}
			_, err := d.Token()
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want an error (%v)", err, tt.want)
			}
			if strings.Contains(err.Error(), "SECRET") {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
	d := mustOpen(t)
	if err := os.WriteFile(d.file(tokenName), []byte(" "+secret+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Token(); got != secret || err != nil {
		t.Errorf("with white space around: %q, %v", got, err)
	}
}

func TestNamedTokens(t *testing.T) {
	d := mustOpen(t)
	tokens := TokensAt(d.TokensPath())
	if list, err := tokens.List(); len(list) != 0 || err != nil {
		t.Fatalf("without a file: %v, %v", list, err)
	}
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	laptop, err := tokens.Add(t.Context(), "laptop", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Add(t.Context(), "ci@build-1", now); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Add(t.Context(), "laptop", now); err == nil || !strings.Contains(err.Error(), "remove it first") {
		t.Errorf("the same name again: %v", err)
	}
	list, err := tokens.List()
	if err != nil || len(list) != 2 {
		t.Fatalf("list: %v, %v", list, err)
	}
	if got := list[0]; got.Name != "laptop" || got.Hash != sha256.Sum256([]byte(laptop)) || !got.Created.Equal(now) {
		t.Errorf("first token %+v", got)
	}
	data, err := os.ReadFile(d.TokensPath())
	if err != nil || strings.Contains(string(data), laptop) {
		t.Errorf("the file holds the token itself, or cannot be read: %v", err)
	}
	if got := mode(t, d.TokensPath()); got != 0o600 {
		t.Errorf("the file has mode %o, want 600", got)
	}
	if err := tokens.Remove(t.Context(), "laptop"); err != nil {
		t.Error(err)
	}
	if err := tokens.Remove(t.Context(), "laptop"); err == nil {
		t.Error("removed twice")
	}
	if list, err := tokens.List(); err != nil || len(list) != 1 || list[0].Name != "ci@build-1" {
		t.Errorf("after removal: %v, %v", list, err)
	}
}

func TestNamedTokensAddedAtOnce(t *testing.T) {
	tokens := TokensAt(mustOpen(t).TokensPath())
	var adders sync.WaitGroup
	for i := range 8 {
		adders.Go(func() {
			if _, err := tokens.Add(t.Context(), fmt.Sprint("n", i), time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	adders.Wait()
	if list, err := tokens.List(); len(list) != 8 || err != nil {
		t.Errorf("%d tokens, %v, want 8", len(list), err)
	}
}

func TestTokenNames(t *testing.T) {
	for _, name := range []string{"a", "A1", "laptop", "ci@build-1", "a.b_c", strings.Repeat("x", 64)} {
		if !ValidTokenName(name) {
			t.Errorf("%q was refused", name)
		}
	}
	for _, name := range []string{"", "local", "LOCAL", "-a", ".a", "a b", "a/b", "a\n", "ä", strings.Repeat("x", 65)} {
		if ValidTokenName(name) {
			t.Errorf("%q was accepted", name)
		}
		if _, err := TokensAt("unused").Add(t.Context(), name, time.Now()); !errors.Is(err, ErrTokenName) {
			t.Errorf("add %q: %v, want ErrTokenName", name, err)
		}
	}
}

func TestNamedTokensThatCannotBeUsed(t *testing.T) {
	hash := strings.Repeat("ab", sha256.Size)
	const secret = "SECRETSECRETSECRETSECRETAB"
	tests := []struct {
		name, text string
		mode       os.FileMode
	}{
		{"not YAML", "tokens: [" + secret, 0o600},
		{"a list", "- " + secret, 0o600},
		{"unknown member", "tokens:\n- {name: a, sha256: " + hash + ", token: " + secret + "}", 0o600},
		{"the token for its hash", "tokens:\n- {name: a, sha256: " + secret + "}", 0o600},
		{"short hash", "tokens:\n- {name: a, sha256: abab}", 0o600},
		{"the owner's name", "tokens:\n- {name: local, sha256: " + hash + "}", 0o600},
		{"twice", "tokens:\n- {name: a, sha256: " + hash + "}\n- {name: a, sha256: " + hash + "}", 0o600},
		{"too many", "tokens:\n" + strings.Repeat("- {name: a, sha256: b}\n", maxNamedTokens+1), 0o600},
		{"too large", "#" + strings.Repeat("x", maxTokensFile), 0o600},
		{"writable", "tokens: []", 0o622},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := mustOpen(t).TokensPath()
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			list, err := TokensAt(path).List()
			if err == nil {
				t.Fatalf("accepted: %v", list)
			}
			if strings.Contains(err.Error(), "SECRET") {
				t.Errorf("the error repeats a token: %v", err)
			}
			if _, err := TokensAt(path).Add(t.Context(), "new", time.Now()); err == nil {
				t.Error("the file was replaced")
			}
		})
	}
	path := mustOpen(t).TokensPath()
	for _, text := range []string{"", "# nothing yet\n", "tokens:\n", "tokens: []\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if list, err := TokensAt(path).List(); len(list) != 0 || err != nil {
			t.Errorf("%q: %v, %v, want none", text, list, err)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("tokens:\n- {name: a, sha256: " + strings.Repeat("ab", sha256.Size) + ", created: 2026-01-02T03:04:05Z}"))
	f.Add([]byte("tokens: &a [*a]"))
	f.Add([]byte("---\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseTokens(data)
		if err != nil && list != nil {
			t.Errorf("both %v and %v", list, err)
		}
		for _, tok := range list {
			if !ValidTokenName(tok.Name) || tok.Hash == ([sha256.Size]byte{}) && !strings.Contains(string(data), "0000") {
				t.Errorf("token %+v", tok)
			}
		}
	})
}

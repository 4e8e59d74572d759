package acp

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestParseCommand(t *testing.T) {
	for _, tt := range []struct {
		text      string
		env, argv []string
	}{
		{"claude-agent-acp", nil, []string{"claude-agent-acp"}},
		{"  npx -y  @scope/pkg\t--acp\n", nil, []string{"npx", "-y", "@scope/pkg", "--acp"}},
		{`A=1 B_2='x y' prog C=3`, []string{"A=1", "B_2=x y"}, []string{"prog", "C=3"}},
		{`'a b' "c d" e\ f ''`, nil, []string{"a b", "c d", "e f", ""}},
		{`a"b"'c'\d`, nil, []string{"abcd"}},
		{`"\"\\\$\x" '\'`, nil, []string{`"\$\x`, `\`}},
		{`$HOME *.go|x`, nil, []string{"$HOME", "*.go|x"}},
		{`1A=x`, nil, []string{"1A=x"}},
	} {
		c, err := ParseCommand(tt.text)
		if err != nil || !slices.Equal(c.Env, tt.env) || !slices.Equal(c.Argv, tt.argv) {
			t.Errorf("%q: %q %q, %v", tt.text, c.Env, c.Argv, err)
		}
	}
	for _, bad := range []string{"", "   ", "A=1", `a'b`, `a"b`, `a\`, "a\x00b", "'a\x00", "\"\x00\""} {
		if c, err := ParseCommand(bad); err == nil {
			t.Errorf("%q: %q", bad, c)
		}
	}
}

// FuzzParseCommand compares with a shell on what needs no expansion.
func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{`a b`, `'a b' c`, `"a\"b" c\ d`, `a"b"'c'`, `''`, `"\\"`, "a\\\nb", `x\\y`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := splitWords(text)
		if err != nil || strings.ContainsAny(text, "$`*?[]{}()<>|&;#!~=\x00\r\n") || !isPlain(text) {
			return
		}
		got, err := exec.Command("sh", "-c", `set -- `+text+`; for w; do printf '%s\n' "$w"; done`).Output()
		if err != nil {
			return
		}
		if want := joined(words); string(got) != want {
			t.Errorf("%q: %q, the shell has %q", text, want, got)
		}
	})
}

func isPlain(text string) bool {
	for _, r := range text {
		if r < ' ' && r != '\t' || r > '~' {
			return false
		}
	}
	return true
}

func joined(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w + "\n")
	}
	return b.String()
}

func TestParseMCPServer(t *testing.T) {
	for _, bad := range []string{"", "x", "=y", "x=", "x='"} {
		if m, err := ParseMCPServer(bad); err == nil {
			t.Errorf("%q: %+v", bad, m)
		}
	}
}

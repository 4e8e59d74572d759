package shell

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var literalLines = []string{
	"ls", " ls\t-la  ", "head -n 5 file", `cat 'a b' "c d"`, `cat a'b'"c"d`, `cat ''`, `cat "it's"`, `cat '$HOME ` + "`x`" + ` \ *'`,
	"git log HEAD~1 main..dev", "git show HEAD^ v1.0:dir/file", "cat naïve.txt 日本.md", "git log --since=2020-01-01",
	`cat "a*b" 'c?d' "{x}" '#'`, "cat a~ x=~y", "ls ./a+b,c@d%e:f",
}

var refusedLines = []string{
	"", "   ", "ls; rm x", "ls && rm x", "ls | sh", "ls > x", "ls < x", "ls & rm x", "cat $HOME", "cat $(x)", "cat `x`", `cat "$HOME"`,
	`cat "$(x)"`, "cat \"`x`\"", `cat a\ b`, `cat "a\"b"`, "cat *", "cat a?", "cat [ab]", "ls ~", "cat ~root/x", "ls # x", "cat {a,b}",
	"cat 'a", `cat "a`, "ls\nrm x", "cat 'a\nb'", "ls\rrm", "cat \x00", "cat a\u00a0b", "cat \xff", "! ls", "cat a\u2028b", "ls (x)",
}

func TestSplitWordsAsTheShellDoes(t *testing.T) {
	for _, line := range literalLines {
		words, ok := splitWords(line)
		if !ok {
			t.Errorf("splitWords(%q) refused", line)
			continue
		}
		out, err := exec.Command("sh", "-c", "printf '%s\\0' "+line).Output()
		if err != nil {
			t.Fatalf("sh %q: %v", line, err)
		}
		if want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(words, want) {
			t.Errorf("splitWords(%q) = %q, the shell sees %q", line, words, want)
		}
	}
}

func TestSplitWordsRefuses(t *testing.T) {
	for _, line := range refusedLines {
		if words, ok := splitWords(line); ok {
			t.Errorf("splitWords(%q) = %q, want refusal", line, words)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, line := range slices.Concat(literalLines, refusedLines) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, ok := splitWords(line)
		if !ok {
			return
		}
		checkLiteral(t, line)
		quoted := make([]string, len(words))
		for i, word := range words {
			if !utf8.ValidString(word) || strings.ContainsAny(word, "\x00\n\r") {
				t.Fatalf("splitWords(%q) made the word %q", line, word)
			}
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
		}
		again, ok := splitWords(strings.Join(quoted, " "))
		if !ok || !slices.Equal(again, words) {
			t.Fatalf("splitWords(%q) = %q, quoted %q", line, words, again)
		}
	})
}

// checkLiteral reads the line in the other direction, as a small machine of its
// own: outside of single quotes nothing may expand, outside of all quotes
// nothing may separate commands.
func checkLiteral(t *testing.T, line string) {
	t.Helper()
	var quote rune
	for _, r := range line {
		switch {
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case quote != '\'' && strings.ContainsRune("$`\\", r),
			quote == 0 && strings.ContainsRune("|&;<>()*?[]{}#!\n\r", r):
			t.Fatalf("splitWords accepted %q with a special %q", line, r)
		}
	}
	if quote != 0 {
		t.Fatalf("splitWords accepted %q with an open quote", line)
	}
}

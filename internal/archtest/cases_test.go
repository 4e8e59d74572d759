package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	named    = regexp.MustCompile(`\b((?:Test|Fuzz|Benchmark)[A-Z0-9]\w*)(…?)`)
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// A proof that was renamed or removed is none: every test that docs/CASES.md names
// must exist. A name that ends in "…" stands for all that begin so.
func TestCasesNameTestsThatExist(t *testing.T) {
	tests := declaredTests(t)
	page, err := os.ReadFile("../../docs/CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	names := named.FindAllStringSubmatch(string(page), -1)
	if len(names) < 100 {
		t.Fatalf("the page names %d tests only: is it still written as it was?", len(names))
	}
	for _, m := range names {
		want := "\n" + m[1]
		if m[2] == "" {
			want += "\n"
		}
		if !strings.Contains(tests, want) {
			t.Errorf("docs/CASES.md names %s%s, which is no test", m[1], m[2])
		}
	}
}

// declaredTests returns the names of all tests of the module, each between two
// newlines.
func declaredTests(t *testing.T) string {
	t.Helper()
	var names strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			names.WriteString("\n" + string(m[1]) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names.String()
}

package shell

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/causeway-ahp/causeway/agent/process"
)

// flags are the options a read-only command may have. Whatever is not listed
// makes the command one that needs consent; abbreviations of long options too.
type flags struct {
	letters  string   // single letters without a value, which may be joined: -la
	words    []string // whole options
	prefixes []string // options with any value behind them: --since=…
	counts   []string // options with a number, joined or in the next word: -n 5
	number   bool     // a number alone: -5
}

// readers are the read-only commands other than git.
var readers = map[string]struct {
	flags
	files bool // opens what it is given
}{
	"pwd":  {flags: flags{letters: "LP"}},
	"ls":   {flags: flags{letters: "laA1hRtrSdFisnpkgoC", words: []string{"--all", "--almost-all", "--human-readable", "--recursive", "--reverse"}}},
	"cat":  {flags: flags{letters: "nbsAeEtTvu", words: []string{"--number", "--show-all"}}, files: true},
	"head": {flags: flags{letters: "qv", counts: []string{"-n", "-c"}, number: true}, files: true},
}

// gitReaders are the read-only subcommands of git.
var gitReaders = map[string]flags{
	"status": {
		letters: "sb",
		words:   []string{"--short", "--branch", "--long", "--porcelain", "--porcelain=v1", "--porcelain=v2", "-uno", "-unormal", "-uall", "--show-stash"},
	},
	"diff": diffFlags,
	"log":  logFlags,
	"show": logFlags,
}

var diffFlags = flags{
	letters: "puwbMCR",
	words: []string{
		"--stat", "--shortstat", "--numstat", "--summary", "--name-only", "--name-status", "--patch", "--no-patch", "--raw",
		"--cached", "--staged", "--minimal", "--patience", "--histogram", "--word-diff", "--check", "--no-color", "--no-renames",
		"--ignore-all-space", "--ignore-space-change", "--ignore-blank-lines",
	},
	counts: []string{"-U"},
}

// logFlags have no --format: its placeholders can start gpg.
var logFlags = flags{
	letters: diffFlags.letters,
	words: append([]string{
		"--oneline", "--graph", "--all", "--branches", "--tags", "--decorate", "--no-decorate", "--reverse", "--follow",
		"--merges", "--no-merges", "--first-parent", "--abbrev-commit", "--date=iso", "--date=short", "--date=relative", "-i",
	}, diffFlags.words...),
	prefixes: []string{"--since=", "--until=", "--after=", "--before=", "--author=", "--grep=", "--max-count=", "--skip="},
	counts:   []string{"-n", "-U"},
	number:   true,
}

// operands returns what is no option, and whether every option is listed.
func (f flags) operands(args []string) (operands []string, ok bool) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(operands, args[i+1:]...), true
		case !strings.HasPrefix(arg, "-"):
			operands = append(operands, arg)
		case slices.Contains(f.counts, arg):
			if i++; i == len(args) || !isNumber(args[i]) {
				return nil, false
			}
		case !f.lists(arg):
			return nil, false
		}
	}
	return operands, true
}

// lists reports whether an option of one word is listed.
func (f flags) lists(arg string) bool {
	if slices.Contains(f.words, arg) || f.number && isNumber(arg[1:]) {
		return true
	}
	if strings.HasPrefix(arg, "--") {
		return slices.ContainsFunc(f.prefixes, func(p string) bool { return strings.HasPrefix(arg, p) })
	}
	if len(arg) > 2 && slices.Contains(f.counts, arg[:2]) {
		return isNumber(arg[2:])
	}
	return len(arg) > 1 && strings.Trim(arg[1:], f.letters) == ""
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// readOnly decides whether a line may run unasked, and returns what to execute
// then. It never errs on the side of running: what it does not understand
// needs consent.
func (s *session) readOnly(ctx context.Context, line string) (process.Command, bool) {
	words, ok := splitWords(line)
	if !ok || !s.roots.holds(s.dir) { // the directory may have been replaced
		return process.Command{}, false
	}
	if words[0] == "git" {
		return s.readOnlyGit(ctx, words[1:])
	}
	reader, ok := readers[words[0]]
	if !ok {
		return process.Command{}, false
	}
	operands, ok := reader.operands(words[1:])
	for _, path := range operands {
		ok = ok && s.mayRead(path, reader.files)
	}
	return process.Command{Argv: words, Dir: s.dir, Env: s.env}, ok
}

// mayRead reports whether an operand is a path inside the roots. To open
// anything but a file can have an effect: a read from a pipe takes what was
// meant for someone else.
func (s *session) mayRead(path string, opened bool) bool {
	path = s.locate(path)
	if !s.roots.holds(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && (!opened || info.Mode().IsRegular() || info.IsDir())
}

// locate is the path an operand means to a command in the working directory. It
// is not cleaned; see roots.holds.
func (s *session) locate(operand string) string {
	if filepath.IsAbs(operand) {
		return operand
	}
	return s.dir + string(filepath.Separator) + operand
}

package shell

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/causeway-ahp/causeway/agent/process"
)

// A repository's own configuration can name programs, and a repository may come
// from anywhere. What follows lets the Git commands of gitReaders start none of
// them:
//
//   - fixed settings win over the configuration (gitSettings);
//   - every configured key that can name a program is emptied by name
//     (programKeys), filters above all: "git status" runs them on changed files;
//   - no process is started in a submodule, whose configuration is not seen
//     here: only the commit it is at is compared;
//   - nothing is fetched, not even for a partial clone, so no transport runs;
//   - the index is not written, so its hook does not run.

// probeBytes bounds what is read of a repository's configuration.
const probeBytes = 256 << 10

// maxOverrides bounds the keys emptied on the command line.
const maxOverrides = 256

// gitSettings are given to every Git command that runs unasked.
var gitSettings = []string{
	"core.fsmonitor=false",
	"core.hooksPath=/dev/null",
	"core.pager=cat",
	"diff.autoRefreshIndex=false",   // would write the index
	"diff.submodule=short",          // "diff" starts git in the submodule
	"status.submoduleSummary=false", // starts git submodule
	"log.showSignature=false",       // starts gpg
	"log.diffMerges=separate",       // the default; "remerge" starts merge drivers
	"gpg.program=/dev/null",
	"gpg.openpgp.program=/dev/null",
	"gpg.x509.program=/dev/null",
	"gpg.ssh.program=/dev/null",
}

// programKeys are the last parts of keys that can name a program, in lower
// case, as Git prints them.
var programKeys = []string{
	"clean", "smudge", "process", // filter.*
	"external", "command", "textconv", // diff, diff.*, hook.*
	"driver",                       // merge.*
	"program", "defaultkeycommand", // gpg.*
	"cmd", "helper", "vcs", "uploadpack", "sshcommand", "gitproxy", "askpass",
	"alternaterefscommand", "packobjectshook",
}

// gitEnvKept are the variables of Git that reach a command run unasked: those
// that say where the user's own configuration is. The others can name programs,
// files to write, or another repository.
var gitEnvKept = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"}

// gitEnv is the environment of a Git command that runs unasked.
func gitEnv(env []string) []string {
	kept := make([]string, 0, len(env)+5)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "GIT_") || slices.Contains(gitEnvKept, name) {
			kept = append(kept, kv)
		}
	}
	return append(kept,
		"GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",     // recent versions
		"GIT_ALLOW_PROTOCOL=none", // every version
	)
}

// readOnlyGit decides about the words after "git".
func (s *session) readOnlyGit(ctx context.Context, words []string) (process.Command, bool) {
	if len(words) == 0 {
		return process.Command{}, false
	}
	sub, args := words[0], words[1:]
	allowed, ok := gitReaders[sub]
	if !ok {
		return process.Command{}, false
	}
	operands, ok := allowed.operands(args)
	if !ok || !s.mayNameToGit(operands) {
		return process.Command{}, false
	}
	repo := gitRepo{dir: s.dir, env: gitEnv(s.env)}
	overrides, ok := repo.inspect(ctx, s.roots, sub)
	if !ok {
		return process.Command{}, false
	}
	words = append([]string{sub}, neutralFlags(sub)...)
	return repo.command(overrides, append(words, args...)...), true
}

// neutralFlags are put before what the user typed.
func neutralFlags(sub string) []string {
	if sub == "status" {
		return []string{"--ignore-submodules=dirty"}
	}
	return []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}
}

// mayNameToGit reports whether operands, each a revision or a path, stay inside
// the working tree. Outside of it "git diff" would compare any two files.
func (s *session) mayNameToGit(operands []string) bool {
	for _, operand := range operands {
		if filepath.IsAbs(operand) || slices.Contains(strings.Split(operand, "/"), "..") {
			return false
		}
		path := s.locate(operand)
		if _, err := os.Lstat(path); err == nil && !s.roots.holds(path) {
			return false
		}
	}
	return true
}

// gitRepo is the repository a command would work on.
type gitRepo struct {
	dir string
	env []string
}

// command is git with the fixed settings, overrides and words.
func (g gitRepo) command(overrides []string, words ...string) process.Command {
	argv := []string{"git", "--no-pager"}
	for _, setting := range slices.Concat(gitSettings, overrides) {
		argv = append(argv, "-c", setting)
	}
	return process.Command{Argv: append(argv, words...), Dir: g.dir, Env: g.env}
}

// inspect returns the settings that take the programs out of the repository's
// configuration. It refuses a repository that is not wholly inside the roots,
// as are a linked worktree's and that of a parent directory, and one whose
// output would be wrong without its filters.
func (g gitRepo) inspect(ctx context.Context, r roots, sub string) (overrides []string, ok bool) {
	top, ok := g.locate(ctx, r)
	if !ok {
		return nil, false
	}
	out, err := process.OutputOf(ctx, g.command(nil, "config", "--list", "--name-only", "-z"), probeBytes)
	if err != nil {
		return nil, false
	}
	overrides, filters, ok := overridesFor(strings.Split(out, "\x00"))
	if filters && (sub == "status" || sub == "diff") && mentionsFilter(top) {
		return nil, false
	}
	return overrides, ok
}

// locate finds the working tree, and refuses one of which a part is outside the
// roots.
func (g gitRepo) locate(ctx context.Context, r roots) (top string, ok bool) {
	out, err := process.OutputOf(ctx, g.command(nil, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"), probeBytes)
	if err != nil {
		return "", false
	}
	paths := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(paths) != 3 { // a line break in a name
		return "", false
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = g.dir + string(filepath.Separator) + path
		}
		if !r.holds(path) {
			return "", false
		}
	}
	return paths[0], true
}

// overridesFor empties the keys that can name a program. It fails on a key that
// cannot be written on a command line.
func overridesFor(keys []string) (overrides []string, filters, ok bool) {
	for _, key := range keys {
		leaf := key[strings.LastIndexByte(key, '.')+1:]
		filter := strings.HasPrefix(key, "filter.")
		switch {
		case filter && leaf == "required":
			// A filter that is required and empty is an error.
			overrides = append(overrides, key+"=false")
		case slices.Contains(programKeys, leaf):
			overrides = append(overrides, key+"=")
		default:
			continue
		}
		if strings.ContainsAny(key, "=\n") {
			return nil, false, false
		}
		filters = filters || filter
	}
	slices.Sort(overrides)
	overrides = slices.Compact(overrides)
	return overrides, filters, len(overrides) <= maxOverrides
}

// mentionsFilter reports whether files of a working tree go through a filter
// according to its top directory. Without the filter they would be reported as
// changed. This only keeps the output honest: no filter runs either way.
func mentionsFilter(top string) bool {
	path := filepath.Join(top, ".gitattributes")
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > probeBytes {
		return err == nil // nothing to read, or nothing that should be
	}
	attributes, err := os.ReadFile(path)
	return err != nil || strings.Contains(string(attributes), "filter=")
}

package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
)

// traps are repositories in which a read-only Git command starts a program that
// leaves a file "sprung" behind. The setup is a shell script; $TRAP is the
// program. Each is first run by a shell, to see that the trap works at all.
var traps = []struct {
	name, setup, line string
	refused           bool // needs consent instead of being made safe
}{
	{"fsmonitor", `git config core.fsmonitor "$TRAP"`, "git status", false},
	{"external diff", `git config diff.external "$TRAP"`, "git diff", false},
	{"external diff of a driver", `git config diff.x.command "$TRAP"; echo "* diff=x" >.gitattributes`, "git diff", false},
	{"textconv in diff", `git config diff.x.textconv "$TRAP"; echo "* diff=x" >.gitattributes`, "git diff", false},
	{"textconv in show", `git config diff.x.textconv "$TRAP"; echo "* diff=x" >.gitattributes`, "git show HEAD", false},
	{"clean filter in status", `git config filter.x.clean "$TRAP"; git config filter.x.required true; echo "* filter=x" >.git/info/attributes; touch -t 200001010000 file`, "git status", false},
	{"clean filter in diff", `git config filter.x.clean "$TRAP"; echo "* filter=x" >.git/info/attributes`, "git diff", false},
	{"process filter", `git config filter.x.process "$TRAP"; echo "* filter=x" >.git/info/attributes`, "git diff", false},
	{"filter of a tracked attribute", `git config filter.x.clean "$TRAP"; echo "* filter=x" >.gitattributes`, "git status", true},
	{"filter with an odd name", `git config filter.a=b.clean "$TRAP"; echo "* filter=a=b" >.git/info/attributes`, "git diff", true},
	{"filter of an included file", `printf '[filter "x"]\nclean = %s\n' "$TRAP" >.git/more; git config include.path more; echo "* filter=x" >.git/info/attributes`, "git diff", false},
	{"index hook", `cp "$TRAP" .git/hooks/post-index-change; touch -t 200001010000 same`, "git status", false},
	{"index hook after diff", `cp "$TRAP" .git/hooks/post-index-change; touch -t 200001010000 same`, "git diff", false},
	{"hooks path", `mkdir .git/h; cp "$TRAP" .git/h/post-index-change; git config core.hooksPath .git/h; touch -t 200001010000 same`, "git status", false},
	{"signature", signedCommit + `; git config log.showSignature true; git config gpg.program "$TRAP"`, "git log", false},
	{"signature in a format", signedCommit + `; git config format.pretty "%G?"; git config gpg.openpgp.program "$TRAP"`, "git show", false},
	{"merge driver", mergeCommit + `; git config log.diffMerges remerge; git config merge.x.driver "$TRAP"; echo "* merge=x" >.git/info/attributes`, "git show -m", true},
	{"lazy fetch", lazyClone + `; git config remote.evil.url "ext::$TRAP"; git config protocol.ext.allow always`, "git show HEAD", false},
	{"submodule filter", submodule + `; git -C mod config filter.x.clean "$TRAP"; echo "* filter=x" >.git/modules/mod/info/attributes; touch -t 200001010000 mod/f`, "git status", false},
	{"submodule diff", submodule + `; git config diff.submodule diff; git -C mod config diff.external "$TRAP"; cd mod; echo new >f; git commit -qam new; cd ..`, "git diff", false},
}

const (
	signedCommit = `{ git cat-file commit HEAD | sed '/^$/,$d'; printf 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\nsigned\n'; } >.git/signed
		git reset -q --soft "$(git hash-object -t commit -w .git/signed)"`
	mergeCommit = `git checkout -f -qb side HEAD~1; echo side >file; git commit -qam side; git checkout -q -f main; git merge -q side >/dev/null || true
		echo merged >file; git commit -qam merged`
	lazyClone = `git config extensions.partialClone evil; git config remote.evil.promisor true
		b=$(git rev-parse HEAD:file); rm -f ".git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-)"`
	submodule = `git init -q ../mod; cd ../mod; echo 1 >f; git add f; git commit -qm f; cd ../repo
		git -c protocol.file.allow=always submodule --quiet add ../mod mod; git commit -qm mod`
)

// newRepo is a directory with a repository "repo" of two commits and a changed
// file.
func newRepo(t *testing.T) (base string) {
	base = t.TempDir()
	w := &world{dir: filepath.Join(base, "repo")}
	w.write(t, "file", "one\n")
	w.write(t, "same", "same\n")
	script(t, w.dir, `git init -q -b main; git add .; git commit -qm one; echo two >file; git commit -qam two; echo 333 >file`)
	return base
}

// setTrap copies the repository, sets the trap up, and returns a world on the
// copy and the file the trap leaves.
func setTrap(t *testing.T, repo, setup string) (w *world, sprung string) {
	t.Helper()
	base := t.TempDir()
	sprung, trap := filepath.Join(base, "sprung"), filepath.Join(base, "trap")
	if err := os.CopyFS(base, os.DirFS(repo)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho >"+sprung+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "repo")
	script(t, dir, setup, "TRAP="+trap)
	return openIn(t, dir), sprung
}

// script runs shell commands outside of the agent.
func script(t testing.TB, dir, text string, env ...string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", text)
	cmd.Dir, cmd.Env = dir, append(testEnv(t), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("set up: %v\n%s", err, out)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestGitStartsNoProgram(t *testing.T) {
	repo := newRepo(t)
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			w, sprung := setTrap(t, repo, trap.setup)
			_ = os.Remove(sprung)
			if o := w.prompt(t, trap.line); o.Result != agent.Completed {
				t.Fatalf("outcome %+v", o)
			}
			if asked := len(w.asked) > 0; asked != trap.refused {
				t.Errorf("asked %v, want %v", asked, trap.refused)
			}
			if exists(sprung) {
				t.Error("the program ran")
			}
			if w.run(t, trap.line+" #"); !exists(sprung) {
				t.Error("the program does not run in a shell either: the trap is broken")
			}
		})
	}
}

func TestGitResults(t *testing.T) {
	w := openIn(t, filepath.Join(newRepo(t), "repo"))
	for _, tt := range []struct{ line, want string }{
		{"git status --short", " M file\n"},
		{"git diff --stat", " file | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n"},
		{"git show HEAD~1:file", "one\n"},
		{"git log --oneline --name-only -n 1 --graph --no-decorate --author=nobody", ""},
	} {
		if got := outputText(w.run(t, tt.line)); got != tt.want {
			t.Errorf("%s printed %q, want %q", tt.line, got, tt.want)
		}
	}
	if len(w.asked) > 0 {
		t.Errorf("asked about %s", w.asked[0].Input.Text)
	}
}

// TestGitOutsideOfRoots: the repository as a whole must be inside.
func TestGitOutsideOfRoots(t *testing.T) {
	repo := filepath.Join(newRepo(t), "repo")
	script(t, repo, `mkdir sub; git worktree add -q ../tree; git init -q other; git -C other config core.worktree ../../..`)
	for _, dir := range []string{"sub", "../tree", "other", ".."} {
		w := openIn(t, filepath.Join(repo, dir))
		for _, line := range []string{"git status", "git log"} {
			if _, ok := w.session.(*session).readOnly(t.Context(), line); ok {
				t.Errorf("%q runs unasked in %s", line, dir)
			}
		}
	}
}

func TestGitEnv(t *testing.T) {
	env := gitEnv([]string{"PATH=/bin", "GIT_DIR=/x", "GIT_EXTERNAL_DIFF=x", "GIT_CONFIG_COUNT=1", "GIT_TRACE=/x", "GIT_CONFIG_GLOBAL=/g"})
	want := []string{
		"PATH=/bin", "GIT_CONFIG_GLOBAL=/g", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
	}
	if len(env) != len(want) {
		t.Fatalf("got %q, want %q", env, want)
	}
	for i := range want {
		if env[i] != want[i] {
			t.Errorf("got %q, want %q", env[i], want[i])
		}
	}
}

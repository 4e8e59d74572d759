package shell

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// newTree is a session on two roots with a repository in the first, and a
// secret outside of both that links lead to.
func newTree(t testing.TB) *world {
	t.Helper()
	base := t.TempDir()
	a, b := filepath.Join(base, "a"), filepath.Join(base, "b")
	w := &world{dir: a}
	w.write(t, "file", "content\n")
	w.write(t, "with space", "content\n")
	w.write(t, "sub/deep", "content\n")
	w.write(t, "../b/other", "content\n")
	w.write(t, "../secret", "secret\n")
	for link, target := range map[string]string{
		"out": "../secret", "outdir": "..", "in": "file", "indir": "../b", "dangling": "../nothing", "dir": "sub",
	} {
		if err := os.Symlink(target, filepath.Join(a, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(a, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := openIn(t, a, b)
	script(t, a, "git init -q -b main; git add file sub; git commit -qm first; git tag v1; echo more >>file; git commit -qam second")
	return opened
}

func TestReadOnlyRunsUnasked(t *testing.T) {
	w := newTree(t)
	for _, line := range []string{
		"ls", "ls -la", "ls -l -a sub", "ls --all", "pwd", "pwd -P", "cat file", "cat -n file sub/deep", `cat "with space"`, "cat -- file",
		"head file", "head -n 5 file", "head -n5 file", "head -5 file", "head -c 10 -q file", "cat in", "ls dir", "cat dir/deep",
		"cat " + w.dir + "/file", "cat ../b/other", "cat indir/other", "cat sub/../file", "ls .", "ls ..//a", "ls fifo",
		"git status", "git status -sb", "git status --porcelain", "git diff", "git diff --cached --stat", "git diff HEAD~1 -- file",
		"git diff main v1", "git diff v1..main", "git diff -U3", "git log", "git log --oneline -n 5", "git log -3 --stat", "git log -p file",
		"git log --since=yesterday --author='a b'", "git show", "git show HEAD~1", "git show HEAD:sub/deep", "git show v1 --name-only",
	} {
		if cmd, ok := w.session.(*session).readOnly(t.Context(), line); !ok {
			t.Errorf("%q needs consent", line)
		} else if cmd.Argv[0] == "sh" {
			t.Errorf("%q is given to a shell", line)
		}
	}
}

func TestReadOnlyRefuses(t *testing.T) {
	w := newTree(t)
	lines := append([]string{
		// Other commands, and other ways to write them.
		"rm file", "tee x", "find . -delete", "/bin/ls", "./ls", "env ls", "X=1 ls", "command ls", `"" ls`, "LS",
		// Outside of the roots.
		"cat /etc/passwd", "cat ../secret", "cat ../../etc/passwd", "ls /", "ls ..", "ls ../", "cat out", "cat outdir/secret",
		"ls outdir", "cat sub/../../secret", "cat dir/../../secret", "cat indir/../secret", "cat dangling", "cat nothing", "head -n 1 out",
		"cat file out", "cat -- out", "cat file -- ../secret",
		// What is read must be a file.
		"cat fifo", "head fifo", "cat /dev/null", "cat -",
		// Flags.
		"ls -L", "ls -laL", "ls -H out", "ls --dereference", "ls --col", "ls -", "cat --output=x file", "head -n", "head -n x file", "head -n 5x file",
		"head --lines=5 file", "tail file",
		// Git: before the subcommand, and subcommands.
		"git", "git -c alias.status=x status", "git -c core.pager=x log", "git -C .. status", "git --git-dir=x status",
		"git --exec-path=. status", "git -p log", "git commit", "git branch", "git fetch", "git config -l", "git grep x", "git status2", "git --version",
		// Git: flags.
		"git diff --output=x", "git diff --output x", "git diff --outp=x", "git log --output=x", "git log --exec", "git show --ext-diff",
		"git show --textconv", "git log --show-signature", "git log --format=%G?", "git log --pretty=%GK", "git status -v", "git diff --no-index a b",
		"git log --remerge-diff -p", "git diff -O../secret", "git log -S x", "git diff --submodule=diff", "git log --alternate-refs", "git log -n x",
		"git show --diff-merges=remerge", "git diff -U", "git status --ignore-submodules=none", "git status --ignored -v",
		// Git: paths outside, which would be compared as plain files.
		"git diff /etc/passwd /dev/null", "git diff file ../secret", "git diff -- file ../secret", "git diff out file", "git log -- ../b/other", "git show -- /etc",
		"git diff sub/../../secret file",
	}, refusedLines...)
	for _, line := range lines {
		if cmd, ok := w.session.(*session).readOnly(t.Context(), line); ok {
			t.Errorf("%q would run unasked as %q", line, cmd.Argv)
		}
	}
}

func TestReadOnlyRefusesReplacedDirectory(t *testing.T) {
	w := newTree(t)
	if err := os.Rename(w.dir, w.dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", w.dir); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.session.(*session).readOnly(t.Context(), "ls"); ok {
		t.Error("a working directory that leads elsewhere now is listed unasked")
	}
}

func TestReadOnlyEvents(t *testing.T) {
	w := newTree(t)
	if o := w.prompt(t, "git log --oneline\ncat 'with space'"); o.Result != agent.Completed || len(w.asked) > 0 {
		t.Fatalf("outcome %+v, asked %d times", o, len(w.asked))
	}
	running := eventsOf[agent.ToolRunning](w.fakeHost)
	finished := eventsOf[agent.ToolFinished](w.fakeHost)
	if len(running) != 2 || len(finished) != 2 {
		t.Fatalf("%d calls ran, %d finished, want 2", len(running), len(finished))
	}
	if r := running[0]; r.Confirmed != ahp.ConfirmedNotNeeded || r.Input.Text != "git log --oneline" || r.ToolCallID == running[1].ToolCallID {
		t.Errorf("running %+v", r)
	}
	if got := outputText(finished[0].Result); !strings.Contains(got, "second\n") || !strings.Contains(got, "first\n") {
		t.Errorf("log printed %q", got)
	}
	if got := outputText(finished[1].Result); got != "content\n" {
		t.Errorf("cat printed %q", got)
	}
}

func FuzzReadOnly(f *testing.F) {
	for _, line := range append([]string{"cat out", "head -n 5 sub/../file", "git diff --output=x"}, literalLines...) {
		f.Add(line)
	}
	w := newTree(f)
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "git") {
			return // would start a process for each input
		}
		cmd, ok := w.session.(*session).readOnly(t.Context(), line)
		if !ok {
			return
		}
		for _, arg := range cmd.Argv[1:] {
			path := w.session.(*session).locate(arg)
			if info, err := os.Stat(path); err == nil && !w.session.(*session).roots.holds(path) {
				t.Fatalf("%q would read %s, %v", line, path, info.Mode())
			}
		}
	})
}

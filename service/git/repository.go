package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
)

// maxReaders is how many processes read objects of one repository at once.
const maxReaders = 2

// repository is one repository on this machine.
type repository struct {
	info      RepositoryInfo
	dir       string // its own Git directory: HEAD of a linked worktree is here
	commonDir string // where refs and objects are
	env       []string

	slots   chan struct{} // holds a token for each batch in use
	mu      sync.Mutex    // guards idle
	idle    []*batch      // processes that wait for work
	closed  bool
	ranging rangeReader
	refs    watcher
}

// open finds the repository of a path: a work tree, a linked one, a directory in
// one, or a bare repository.
func open(ctx context.Context, name, path string) (*repository, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := &repository{env: environment(), slots: make(chan struct{}, maxReaders)}
	r.dir = abs // until Git says better
	out, err := r.run(ctx, "-C", abs, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--is-bare-repository", "--show-object-format")
	if err != nil {
		return nil, fmt.Errorf("%s is no Git repository: %w", path, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 4 {
		return nil, fmt.Errorf("%s: git answered with %d lines, want 4; git 2.36 or newer is needed", path, len(lines))
	}
	r.dir, r.commonDir = lines[0], lines[1]
	r.info = RepositoryInfo{Name: name, Bare: lines[2] == "true", ObjectFormat: lines[3]}
	if name == "" {
		r.info.Name = nameOf(abs, r.info.Bare)
	}
	return r, nil
}

// nameOf is what a repository is called unless told otherwise.
func nameOf(path string, bare bool) string {
	name := filepath.Base(path)
	if bare {
		name = strings.TrimSuffix(name, ".git")
	}
	return name
}

// environment is that of this process without what steers Git, and with what keeps
// it to reading: objects as their ids say, no fetching, no questions.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			env = append(env, v)
		}
	}
	return append(env, "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// command is Git at work in the repository.
func (r *repository) command(args ...string) process.Command {
	return process.Command{Argv: append([]string{"git", "--git-dir", r.dir}, args...), Env: r.env}
}

// run runs Git once and returns what it writes.
func (r *repository) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = r.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, gitError(err, stderr.String())
	}
	return out, nil
}

// gitError is what Git said, or else why it could not be run.
func gitError(err error, stderr string) error {
	text := strings.TrimSpace(stderr)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if text == "" {
		text = err.Error()
	}
	return ahp.Errorf(CodeGitFailed, "%s", text)
}

// isOID reports whether text is a full id in the repository's format.
func (r *repository) isOID(text string) bool {
	want := 40
	if r.info.ObjectFormat == "sha256" {
		want = 64
	}
	if len(text) != want {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// close ends every process and waits for it.
func (r *repository) close() {
	r.mu.Lock()
	r.closed = true
	idle := r.idle
	r.idle = nil
	r.mu.Unlock()
	for _, b := range idle {
		b.end()
	}
	r.ranging.close()
	r.refs.close()
}

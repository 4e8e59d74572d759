package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/causeway-ahp/causeway/jsonrpc"
)

// maxFileBytes bounds a file that is read or written for an agent.
const maxFileBytes = 16 << 20

// FileAccess says what an agent may do with files through the host. It is about
// what the agent asks for: as a program of the user it can do without.
type FileAccess int

// Kinds of access.
const (
	FilesReadWrite FileAccess = iota // inside the session's directories
	FilesReadOnly
	FilesNone
)

// files serves an agent the files of its session's directories. Symbolic links
// are followed inside a directory and never out of it.
type files struct {
	access FileAccess
	roots  []fileRoot
}

type fileRoot struct {
	names []string // the directory as it is written and without symbolic links
	root  *os.Root
}

// openFiles opens the directories. One that is not there is left out.
func openFiles(access FileAccess, dirs []string) *files {
	f := &files{access: access}
	if access == FilesNone {
		return f
	}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		r := fileRoot{names: []string{dir}, root: root}
		if resolved, err := filepath.EvalSymlinks(dir); err == nil && resolved != dir {
			r.names = append(r.names, resolved)
		}
		f.roots = append(f.roots, r)
	}
	return f
}

func (f *files) close() {
	for _, r := range f.roots {
		_ = r.root.Close()
	}
}

func (f *files) mayRead() bool  { return f.access != FilesNone && len(f.roots) > 0 }
func (f *files) mayWrite() bool { return f.access == FilesReadWrite && len(f.roots) > 0 }

// locate finds the directory a path is in.
func (f *files) locate(path string) (*os.Root, string, error) {
	if !filepath.IsAbs(path) {
		return nil, "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "path must be absolute")
	}
	for _, r := range f.roots {
		for _, name := range r.names {
			if rel, err := filepath.Rel(name, filepath.Clean(path)); err == nil && filepath.IsLocal(rel) {
				return r.root, rel, nil
			}
		}
	}
	return nil, "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "path is outside of the session's directories")
}

type readParams struct {
	Path  string `json:"path"`
	Line  *int64 `json:"line"`  // the first, from 1
	Limit *int64 `json:"limit"` // of lines
}

type readResult struct {
	Content string `json:"content"`
}

func (f *files) read(_ context.Context, p *readParams) (any, error) {
	if !f.mayRead() {
		return nil, jsonrpc.ErrMethodNotFound
	}
	root, rel, err := f.locate(p.Path)
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK a pipe would hold us up until somebody writes to it.
	file, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError(err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "path is not a file")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fileError(err)
	}
	if len(data) > maxFileBytes {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the file is larger than %d MiB", maxFileBytes>>20)
	}
	return readResult{someLines(strings.ToValidUTF8(string(data), "\ufffd"), p.Line, p.Limit)}, nil
}

// someLines are limit lines from first, which counts from 1.
func someLines(text string, first, limit *int64) string {
	if first == nil && limit == nil {
		return text
	}
	from, count := int64(1), int64(len(text)+1)
	if first != nil {
		from = max(*first, 1)
	}
	if limit != nil {
		count = max(*limit, 0)
	}
	var b strings.Builder
	n := int64(0)
	for line := range strings.Lines(text) {
		if n++; n < from {
			continue
		}
		if n-from >= count {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

type writeParams struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// write replaces a file, and makes it and its directory if they are not there.
func (f *files) write(_ context.Context, p *writeParams) (any, error) {
	switch {
	case !f.mayWrite():
		return nil, jsonrpc.ErrMethodNotFound
	case len(p.Content) > maxFileBytes:
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the content is larger than %d MiB", maxFileBytes>>20)
	}
	root, rel, err := f.locate(p.Path)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return nil, fileError(err)
	}
	if info, err := root.Stat(rel); err == nil && !info.Mode().IsRegular() {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "path is not a file")
	}
	if err := root.WriteFile(rel, []byte(p.Content), 0o644); err != nil {
		return nil, fileError(err)
	}
	return nothing{}, nil
}

// fileError is what an agent sees of a failure: its kind.
func fileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jsonrpc.Errorf(codeResourceNotFound, "there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "permission denied")
	case errors.Is(err, syscall.ENOSPC):
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "no space left on the device")
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // without what the path is called here
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", fmt.Sprint(err))
}

package shell

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// errDirectoryNotFound is the errorType clients see for a directory that
// cannot be worked in.
const errDirectoryNotFound = "workingDirectoryNotFound"

// roots are directories a read-only command may look into: absolute, without
// symbolic links.
type roots []string

// holds reports whether path exists inside a root when every symbolic link on
// the way has been followed. The path must not have been cleaned before: what
// ".." means after a link is known only once the link was followed.
func (r roots) holds(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for _, root := range r {
		rel, err := filepath.Rel(root, resolved)
		if err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// resolveDirectories returns the working directory, which is the first, and
// the roots. The error is a *agent.StartError.
func resolveDirectories(uris []ahp.URI) (dir string, r roots, err error) {
	if len(uris) == 0 {
		return "", nil, &agent.StartError{Type: errDirectoryNotFound, Message: "the shell needs a working directory"}
	}
	for i, uri := range uris {
		path, resolved, err := resolveDirectory(uri)
		if i == 0 {
			if err != nil {
				return "", nil, startError(path, err)
			}
			dir = path
		}
		if err == nil {
			r = append(r, resolved)
		}
	}
	return dir, r, nil
}

func startError(path string, err error) error {
	message := "the working directory must be a local file URI"
	if path != "" {
		message = fmt.Sprintf("the working directory %s does not exist or cannot be read", path)
	}
	return &agent.StartError{Type: errDirectoryNotFound, Message: message, Err: err}
}

// resolveDirectory returns the path a URI names, as it is written and without
// symbolic links. The path is "" when the URI is no local file URI.
func resolveDirectory(uri ahp.URI) (path, resolved string, err error) {
	if path, err = agent.LocalPath(uri); err != nil {
		return "", "", err
	}
	if resolved, err = filepath.EvalSymlinks(path); err != nil {
		return path, "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return path, "", err
	}
	if !info.IsDir() {
		return path, "", fmt.Errorf("%s is not a directory", path)
	}
	return path, resolved, nil
}

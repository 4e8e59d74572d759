package agent

import (
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/causeway-ahp/causeway/ahp"
)

// LocalPath is the absolute, clean path of a file URI of this machine.
func LocalPath(uri ahp.URI) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", fmt.Errorf("parse directory uri: %w", err)
	}
	if u.Scheme != "file" || (u.Host != "" && u.Host != "localhost") || !filepath.IsAbs(u.Path) {
		return "", fmt.Errorf("%q is not a local file uri", uri)
	}
	return filepath.Clean(u.Path), nil
}

// FileURI is the URI of an absolute path.
func FileURI(path string) ahp.URI {
	u := url.URL{Scheme: "file", Path: path}
	return u.String()
}

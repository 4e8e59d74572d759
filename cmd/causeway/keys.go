package main

import (
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/host/endpoint"
	"github.com/causeway-ahp/causeway/internal/datadir"
)

// keys are the tokens a running host accepts: the directory's own and the named
// ones, read again when their file has changed. It may be used concurrently.
type keys struct {
	own  endpoint.Token
	path string
	log  *slog.Logger

	mu   sync.Mutex
	seen fs.FileInfo // of the file as read; nil: there was none
	list []endpoint.Token
}

// newKeys reads the tokens for the first time.
func newKeys(own, path string, log *slog.Logger) (*keys, error) {
	k := &keys{own: endpoint.NewToken(own, host.Local), path: path, log: log}
	k.seen, _ = os.Stat(path)
	if err := k.read(); err != nil {
		return nil, err
	}
	return k, nil
}

// valid returns the tokens that are valid now. A file that has become unreadable
// or damaged lets in nobody but the owner.
func (k *keys) valid() []endpoint.Token {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, _ := os.Stat(k.path)
	if sameFile(k.seen, now) {
		return k.list
	}
	k.seen = now
	if err := k.read(); err != nil {
		k.log.Warn("named tokens are refused until their file is repaired", "err", err)
	}
	return k.list
}

// read replaces the list; it is never changed in place, since requests keep it.
func (k *keys) read() error {
	named, err := datadir.TokensAt(k.path).List()
	k.list = append(make([]endpoint.Token, 0, len(named)+1), k.own)
	for _, t := range named {
		k.list = append(k.list, endpoint.Token{Hash: t.Hash, Principal: host.Principal(t.Name)})
	}
	return err
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

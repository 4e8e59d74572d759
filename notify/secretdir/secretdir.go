package secretdir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/causeway-ahp/causeway/notify"
)

// Dir is a directory of secrets. Methods may be called concurrently.
type Dir struct{ path string }

// Open opens a directory, or makes it. It refuses one that others can read.
func Open(path string) (*Dir, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("open the secrets: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the secrets: %w", err)
	}
	if mode := info.Mode().Perm(); !info.IsDir() || mode&0o077 != 0 {
		return nil, fmt.Errorf("open the secrets: %s has mode %04o, others could read it; run 'chmod 700' on it", path, mode)
	}
	return &Dir{path}, nil
}

func (d *Dir) file(principal, ref string) string {
	sum := sha256.Sum256([]byte(principal + "\x00" + ref))
	return filepath.Join(d.path, hex.EncodeToString(sum[:16]))
}

// Get implements notify.Secrets.
func (d *Dir) Get(_ context.Context, principal, ref string) (notify.Secret, error) {
	text, err := os.ReadFile(d.file(principal, ref))
	if errors.Is(err, fs.ErrNotExist) {
		return notify.Secret{}, notify.ErrNoSecret
	}
	if err != nil {
		return notify.Secret{}, fmt.Errorf("read a secret: %w", err)
	}
	return notify.NewSecret(string(text)), nil
}

// Put implements notify.Secrets.
func (d *Dir) Put(_ context.Context, principal, ref string, s notify.Secret) (err error) {
	f, err := os.CreateTemp(d.path, ".new.*") // 0600
	if err != nil {
		return fmt.Errorf("write a secret: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write a secret: %w", err)
		}
	}()
	_, err = f.WriteString(s.Reveal())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), d.file(principal, ref)); err != nil {
		return err
	}
	return d.sync()
}

// Delete implements notify.Secrets.
func (d *Dir) Delete(_ context.Context, principal, ref string) error {
	if err := os.Remove(d.file(principal, ref)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a secret: %w", err)
	}
	return nil
}

// sync makes a change of the directory itself durable.
func (d *Dir) sync() error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

var _ notify.Secrets = (*Dir)(nil)

package secretdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/causeway-ahp/causeway/notify"
)

func TestSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	get := func(principal, ref, want string) {
		t.Helper()
		s, err := d.Get(ctx, principal, ref)
		if want == "" && !errors.Is(err, notify.ErrNoSecret) {
			t.Errorf("%s/%s: %v, want ErrNoSecret", principal, ref, err)
		}
		if s.Reveal() != want {
			t.Errorf("%s/%s: another secret than the one that was put", principal, ref)
		}
	}
	get("alice", "../x", "")
	for _, text := range []string{"one", "two"} {
		if err := d.Put(ctx, "alice", "../x", notify.NewSecret(text)); err != nil {
			t.Fatal(err)
		}
		get("alice", "../x", text)
	}
	get("bob", "../x", "")
	get("alic", "e../x", "")
	files, err := os.ReadDir(path)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v, want 1", len(files), err)
	}
	info, err := files[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	for range 2 {
		if err := d.Delete(ctx, "alice", "../x"); err != nil {
			t.Error(err)
		}
	}
	get("alice", "../x", "")
}

func TestOpenRefusesWhatOthersCanRead(t *testing.T) {
	path := t.TempDir()
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("open: %v, want advice", err)
	}
}

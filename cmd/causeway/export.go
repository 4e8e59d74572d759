package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host/transfer"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/journal/sqlite"
	"github.com/spf13/cobra"
)

const exportLong = `Write a session with its chats and all their turns to stdout, or to a file: JSON
Lines, one thing a line, as docs/EXPORT.md describes. The session stays where it
is. The host of the state directory may be running.`

func newExport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session to a file",
		Long:  exportLong,
		Example: `  causeway export 8c1e… > session.jsonl
  causeway export 8c1e… --output session.jsonl`,
		GroupID: groupClient,
		Args:    args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return runExport(cmd, args[0], out) },
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write, which must not exist (default: stdout)")
	return cmd
}

func runExport(cmd *cobra.Command, arg, out string) (err error) {
	uri, err := sessionURI(arg)
	if err != nil {
		return err
	}
	dir, err := dataDir(cmd)
	if err != nil {
		return err
	}
	store, err := openReader(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	session, chats, err := familyOf(store, uri)
	if err != nil {
		return err
	}
	w, done, err := output(cmd, out)
	if err != nil {
		return err
	}
	count, err := transfer.Export(w, store, session, chats)
	if err = done(err); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "exported %s: %s\n", uri, counted(count))
	return nil
}

func counted(c transfer.Count) string { return fmt.Sprintf("%d chats, %d turns", c.Chats, c.Turns) }

// openReader opens the journal of a state directory to read from it.
func openReader(dir datadir.Dir) (*sqlite.Store, error) {
	store, err := sqlite.OpenReader(dir.JournalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there are no sessions in %s; --data names another state directory", dir.Path())
	}
	return store, err
}

// familyOf finds a session and its chats.
func familyOf(store *sqlite.Store, uri ahp.URI) (session transfer.Channel, chats []transfer.Channel, err error) {
	top, err := store.Channels("")
	if err != nil {
		return session, nil, err
	}
	for _, e := range top {
		if e.URI == uri {
			session = transfer.Channel{URI: e.URI, CreatedAt: e.CreatedAt}
		}
	}
	if session.URI == "" {
		return session, nil, fmt.Errorf("there is no session %s; 'causeway sessions' lists them", uri)
	}
	children, err := store.Channels(uri)
	for _, e := range children {
		chats = append(chats, transfer.Channel{URI: e.URI, CreatedAt: e.CreatedAt})
	}
	return session, chats, err
}

// output is where an export goes. A file appears whole or not at all: done is
// given how the export went.
func output(cmd *cobra.Command, path string) (w io.Writer, done func(error) error, err error) {
	if path == "" {
		b := bufio.NewWriter(cmd.OutOrStdout())
		return b, func(err error) error { return errors.Join(err, b.Flush()) }, nil
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, nil, fmt.Errorf("%s exists already; name another --output", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return nil, nil, fmt.Errorf("write --output: %w", err)
	}
	b := bufio.NewWriter(f)
	return b, func(err error) error {
		if err = errors.Join(err, b.Flush(), f.Sync(), f.Close()); err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
		return err
	}, nil
}

const importLong = `Read a session from a file that 'causeway export' wrote, or from stdin with -, into
the state directory (--data). No host may be running on it. What has the same URI
is never replaced. A turn that was running when the file was written ends with an
error that says so.`

func newImport() *cobra.Command {
	return &cobra.Command{
		Use:     "import FILE",
		Short:   "Read a session from a file",
		Long:    importLong,
		GroupID: groupClient,
		Args:    args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return runImport(cmd, args[0]) },
	}
}

func runImport(cmd *cobra.Command, path string) (err error) {
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	dir, err := openDataDir(cmd)
	if err != nil {
		return err
	}
	claim, err := dir.Claim(cmd.Context())
	if err != nil {
		return fmt.Errorf("%w; end it with 'causeway stop' first", err)
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	store, err := sqlite.Open(dir.JournalPath(), sqlite.Options{Always: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	uri, count, err := transfer.Import(in, store)
	if errors.Is(err, transfer.ErrExists) {
		return fmt.Errorf("%w in %s; dispose of it first, or use another --data", err, dir.Path())
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "imported %s: %s\n", uri, counted(count))
	return nil
}

package wiretrace

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/causeway-ahp/causeway/transport"
)

// World is what a trace is played against. It is made inside the bubble of its
// trace, used from one goroutine, and cleans up with the t.Cleanup of the test
// it was made for.
type World interface {
	// Dial opens a fresh connection for the client of that name, raw: nothing
	// has been said on it. The runner closes it.
	Dial(client string) (transport.Conn, error)
	// Do performs a command that only this world knows, with the arguments
	// behind it and the text below it. It must not wait for messages to reach
	// clients. An error ends the trace.
	Do(command string, args []string, body string) error
}

// Cutter is a world that can break the connection of a client the way networks
// do: without a word to the host.
type Cutter interface {
	Cut(client string) error
}

// updateFlag is the name of the flag that rewrites traces. A package whose tests
// have a flag of that name already shares it.
const updateFlag = "update"

func init() {
	if flag.Lookup(updateFlag) == nil {
		flag.Bool(updateFlag, false, "rewrite the expectations of traces from what was received")
	}
}

func updating() bool { return flag.Lookup(updateFlag).Value.String() == "true" }

// Run plays every trace below dir (files *.txtar), each as a subtest named after
// its path, in its own bubble, against its own world.
func Run(t *testing.T, dir string, newWorld func(t *testing.T) World) {
	t.Helper()
	names, err := find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(name, ".txtar"), func(t *testing.T) {
			runFile(t, filepath.Join(dir, name), newWorld)
		})
	}
}

// find lists the traces below dir. None is an error: a renamed folder must not
// turn into a run without tests.
func find(dir string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".txtar") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find traces: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no traces below %s", dir)
	}
	return names, nil
}

func runFile(t *testing.T, path string, newWorld func(t *testing.T) World) {
	tr, err := readTrace(path)
	if err != nil {
		t.Fatal(err)
	}
	before := tr.format()
	synctest.Test(t, func(t *testing.T) {
		p := newPlayer(newWorld(t), updating())
		defer p.close()
		if err := p.play(tr); err != nil {
			t.Fatal(err)
		}
	})
	if after := tr.format(); !bytes.Equal(before, after) {
		t.Logf("%s: expectations rewritten", path)
		if err := os.WriteFile(path, after, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/causeway-ahp/causeway/journal/sqlite"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

const doctorLong = `Look for what keeps a host from working: the state directory, its journal, the
token, the port, and the programs agents need. It changes nothing, also while a
host runs. The exit code is 1 when something must be done.`

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	listen string
	agents []string
	json   bool
}

func newDoctor() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Find out what is wrong",
		Long:    doctorLong,
		GroupID: groupHost,
		Args:    args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:7433", "`address` a host would listen on")
	f.StringArrayVar(&o.agents, "agent", nil, "`NAME=COMMAND` of an agent a host would offer; repeatable")
	f.BoolVar(&o.json, "json", false, "print the findings as JSON objects, one a line")
	return cmd
}

// Verdicts of a finding.
const (
	good = "ok"
	odd  = "warning" // a host works, but somebody should look
	bad  = "problem" // something must be done
)

// finding is what doctor says about one thing.
type finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
	Advice  string `json:"advice,omitzero"`
}

// errUnwell makes the exit code 1: the findings have said everything.
var errUnwell = errors.New("something must be done, see above")

func runDoctor(cmd *cobra.Command, o *doctorOptions) error {
	dir, err := dataDir(cmd)
	if err != nil {
		return err
	}
	running, findErr := dir.Find()
	list := []finding{checkDir(dir), checkHost(running, findErr), checkToken(dir), checkJournal(dir), checkSpace(dir)}
	if findErr != nil {
		list = append(list, checkPort(o.listen))
	}
	list = append(list, checkProgram("shell agent", "sh"), checkProgram("git", "git"))
	for _, a := range o.agents {
		name, command, _ := strings.Cut(a, "=")
		list = append(list, checkProgram("agent "+name, programOf(command)))
	}
	ill := false
	for _, f := range list {
		ill = ill || f.Verdict == bad
		if err := printFinding(cmd, o.json, f); err != nil {
			return err
		}
	}
	if ill {
		return errUnwell
	}
	return nil
}

func printFinding(cmd *cobra.Command, asJSON bool, f finding) error {
	w := cmd.OutOrStdout()
	if asJSON {
		raw, err := json.Marshal(f)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", raw)
		return err
	}
	s := styleOf(w)
	mark := map[string]string{good: s.green("ok     "), odd: s.yellow("warning"), bad: s.red("PROBLEM")}[f.Verdict]
	_, err := fmt.Fprintf(w, "%s  %-12s %s\n", mark, f.Check, f.Detail)
	if f.Advice != "" {
		_, err = fmt.Fprintf(w, "         %-12s %s\n", "", s.bold(f.Advice))
	}
	return err
}

func checkDir(dir datadir.Dir) finding {
	f := finding{Check: "directory", Verdict: good, Detail: dir.Path()}
	info, err := os.Stat(dir.Path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Detail += " is not there; the first host makes it"
	case err != nil:
		f.Verdict, f.Detail, f.Advice = bad, err.Error(), "make it readable, or use another --data"
	case !info.IsDir():
		f.Verdict, f.Detail, f.Advice = bad, dir.Path()+" is not a directory", "use another --data"
	case info.Mode().Perm()&0o022 != 0:
		f.Verdict, f.Detail = bad, fmt.Sprintf("%s can be changed by others (%04o)", dir.Path(), info.Mode().Perm())
		f.Advice = "chmod 700 " + dir.Path()
	}
	return f
}

func checkHost(h datadir.Host, err error) finding {
	switch {
	case err == nil:
		return finding{"host", good, fmt.Sprintf("runs (pid %d, %s, version %s)", h.PID, h.Address, h.Version), ""}
	case errors.Is(err, datadir.ErrNotReady):
		return finding{"host", odd, err.Error(), "if that stays so, see host.log in the state directory"}
	case errors.Is(err, datadir.ErrNoHost):
		return finding{"host", good, "none is running", ""}
	}
	return finding{"host", bad, err.Error(), "make the state directory readable"}
}

func checkToken(dir datadir.Dir) finding {
	path := dir.TokenPath()
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{"token", good, "there is none yet; the first host makes it", ""}
	case err != nil:
		return finding{"token", bad, err.Error(), "make it readable for you"}
	case info.Mode().Perm()&0o077 != 0:
		return finding{"token", bad, fmt.Sprintf("%s can be read by others (%04o)", path, info.Mode().Perm()), "remove it: a host makes a new one; clients then need the new URL"}
	case info.Size() == 0:
		return finding{"token", bad, path + " is empty", "remove it: a host makes a new one"}
	}
	return finding{"token", good, "only you can read it", ""}
}

// checkJournal reads every channel, as a host would.
func checkJournal(dir datadir.Dir) finding {
	path := dir.JournalPath()
	store, err := sqlite.OpenReader(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return finding{"journal", good, "there is none yet", ""}
	case errors.Is(err, sqlite.ErrNewer):
		return finding{"journal", bad, err.Error(), "run the newer causeway"}
	case err != nil:
		return finding{"journal", bad, err.Error(), "copy " + path + "* away; then put a backup in its place, or start afresh with another --data"}
	}
	defer func() { _ = store.Close() }()
	problems, err := store.Check()
	if err != nil {
		problems = append(problems, err.Error())
	}
	sessions, channels, damaged := readAll(store)
	problems = append(problems, damaged...)
	if len(problems) > 0 {
		return finding{
			"journal", bad, strings.Join(problems[:min(5, len(problems))], "; "),
			"what can be read goes on working; copy " + path + "* away, and 'causeway export' the sessions that can be read",
		}
	}
	return finding{"journal", good, fmt.Sprintf("%d sessions, %d channels, all readable", sessions, channels), ""}
}

func readAll(store *sqlite.Store) (sessions, channels int, damaged []string) {
	parents := []string{""}
	for len(parents) > 0 {
		list, err := store.Channels(parents[0])
		parents = parents[1:]
		if err != nil {
			return sessions, channels, append(damaged, err.Error())
		}
		for _, e := range list {
			channels++
			if ahp.KindOf(e.URI) == ahp.KindSession {
				sessions++
				parents = append(parents, e.URI)
			}
			if _, err := host.ReadState(store, e.URI, reducer.Apply); err != nil {
				damaged = append(damaged, err.Error())
			}
		}
	}
	return sessions, channels, damaged
}

// lowSpace is what a disk should have left, in bytes.
const lowSpace = 200 << 20

func checkSpace(dir datadir.Dir) finding {
	var s syscall.Statfs_t
	path := dir.Path()
	if err := syscall.Statfs(path, &s); err != nil {
		return finding{"disk", good, "unknown: " + err.Error(), ""}
	}
	free := s.Bavail * uint64(s.Bsize)
	if free < lowSpace {
		return finding{"disk", odd, fmt.Sprintf("%d MiB are left", free>>20), "make space: without it nothing can be stored, and clients wait"}
	}
	return finding{"disk", good, fmt.Sprintf("%d MiB are left", free>>20), ""}
}

func checkPort(address string) finding {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return finding{"port", bad, fmt.Sprintf("a host cannot listen on %s: %v", address, err), "use another --listen, such as 127.0.0.1:0"}
	}
	_ = ln.Close()
	return finding{"port", good, address + " is free", ""}
}

// programOf is the program of a command line: its first word that sets no variable.
func programOf(command string) string {
	for _, word := range strings.Fields(command) {
		if name, _, set := strings.Cut(word, "="); !set || strings.ContainsAny(name, "/.") {
			return strings.Trim(word, `"'`)
		}
	}
	return ""
}

func checkProgram(check, name string) finding {
	path, err := exec.LookPath(name)
	if err == nil {
		return finding{check, good, path, ""}
	}
	f := finding{check, bad, fmt.Sprintf("%q is not found on the path", name), "install it, or write its whole path"}
	if check == "git" {
		f.Verdict, f.Advice = odd, "without it what concerns repositories does not work"
	}
	return f
}

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gate stands in the place of a program until its group is noted: a shell that
// waits for a line and then becomes the program. When the host dies before, the
// line never comes and the shell ends.
const gate = `read -r x <&3 && exec "$0" "$@" 3<&-`

// launch starts cmd as the leader of its own group. With a ledger the program
// itself begins when its group is noted.
func launch(cmd *exec.Cmd) (group, error) {
	l := current.Load()
	if l == nil {
		if err := cmd.Start(); err != nil {
			return group{}, err
		}
		return group{id: cmd.Process.Pid, exited: make(chan struct{})}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return group{}, fmt.Errorf("make gate: %w", err)
	}
	defer closeAll([]*os.File{r, w})
	if err := behindGate(cmd, r); err != nil {
		return group{}, err
	}
	if err := cmd.Start(); err != nil {
		return group{}, err
	}
	g := group{id: cmd.Process.Pid, exited: make(chan struct{}), ledger: l}
	if err = l.note(g.id); err == nil {
		_, err = w.WriteString("\n")
	}
	if err != nil {
		_ = w.Close() // the gate ends without it
		_ = cmd.Wait()
		l.forget(g.id)
		return group{}, err
	}
	return g, nil
}

// behindGate makes cmd start the gate, which then becomes what cmd was.
func behindGate(cmd *exec.Cmd, line *os.File) error {
	if cmd.Err != nil { // it was not found
		return cmd.Err
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		return fmt.Errorf("find a shell: %w", err)
	}
	cmd.Args = append([]string{"sh", "-c", gate, argv0(cmd)}, cmd.Args[1:]...)
	cmd.Path = sh
	cmd.ExtraFiles = []*os.File{line} // descriptor 3
	return nil
}

// argv0 is what the gate starts the program by: its name as it was given, which
// the program sees, if the program's own PATH leads to the same file.
func argv0(cmd *exec.Cmd) string {
	name := cmd.Args[0]
	if strings.Contains(name, "/") {
		return cmd.Path
	}
	for _, v := range cmd.Env {
		path, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
				if file == cmd.Path {
					return name
				}
				break
			}
		}
	}
	return cmd.Path
}

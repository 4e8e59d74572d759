package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// startTime tells when a process started, in a form that is not used again: the
// time of day in microseconds.
func startTime(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("read start of process %d: %w", pid, err)
	}
	at := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", at.Sec, at.Usec), nil
}

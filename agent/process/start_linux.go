package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
)

// startTime tells when a process started, in a form that is not used again: in
// ticks since the boot, with the boot's id.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// "pid (name) state …": of the fields after the name it is the 20th.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", fmt.Errorf("read start of process %d: unexpected form", pid)
	}
	return string(fields[19]) + " " + bootID(), nil
}

var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
})

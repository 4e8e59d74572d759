package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// Alive reports whether a process of the group runs. The kernel also counts
// zombies, which stay for ever where process 1 does not reap orphans (common in
// containers), so the table of processes decides.
func Alive(pgid int) bool {
	if err := syscall.Kill(-pgid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err == nil && runsInGroup(stat, pgid) {
			return true
		}
	}
	return false
}

// runsInGroup reads a line of /proc/<pid>/stat: "pid (name) state ppid pgrp …".
// The name may hold anything, so the fields are counted after its end.
func runsInGroup(stat []byte, pgid int) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return false
	}
	state, group := fields[0], fields[2]
	return string(group) == strconv.Itoa(pgid) && state[0] != 'Z' && state[0] != 'X'
}

//go:build !linux

package shell

import "syscall"

// groupAlive reports whether a process of the group runs. Darwin answers for a
// group of zombies with an error.
func groupAlive(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }

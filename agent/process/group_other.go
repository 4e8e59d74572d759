//go:build !linux

package process

import "syscall"

// Alive reports whether a process of the group runs. Darwin answers for a
// group of zombies with an error.
func Alive(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }

package shell

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// escapeEnv makes the test binary a process that leaves its group, writes its
// id into the file named and stays.
const escapeEnv = "SHELL_TEST_ESCAPE"

func escape(file string) {
	if _, err := syscall.Setsid(); err != nil {
		os.Exit(1)
	}
	if os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600) != nil {
		os.Exit(1)
	}
	time.Sleep(time.Minute) // whoever reads the id ends it
}

// TestMain fails the run when a goroutine of this package is left behind.
func TestMain(m *testing.M) {
	if file := os.Getenv(escapeEnv); file != "" {
		escape(file)
		return
	}
	code := m.Run()
	if stack := leaked(time.Minute); code == 0 && stack != "" {
		fmt.Fprintln(os.Stderr, "goroutine left behind:\n"+stack)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stack of a goroutine of this package that does not end
// within the limit.
func leaked(limit time.Duration) string {
	deadline := time.Now().Add(limit)
	for {
		stack := ownGoroutine()
		if stack == "" || time.Now().After(deadline) {
			return stack
		}
		time.Sleep(time.Millisecond)
	}
}

func ownGoroutine() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	// The first is the goroutine that looks.
	for _, stack := range strings.Split(string(buf), "\n\n")[1:] {
		if strings.Contains(stack, "agent/shell.") {
			return stack
		}
	}
	return ""
}

package measure

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Machine is where figures were measured. What the system does not tell is empty.
type Machine struct {
	Processor   string `json:"processor,omitzero"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memoryBytes,omitzero"`
	System      string `json:"system"` // kernel and its version, or system, and architecture
	Go          string `json:"go"`
	Load        string `json:"load,omitzero"` // averages of 1, 5 and 15 minutes, at the start
}

// ThisMachine describes the machine as it is now.
func ThisMachine() Machine {
	m := Machine{
		Processor: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		System: runtime.GOOS + " " + runtime.GOARCH, Go: runtime.Version(),
	}
	if kernel := said("uname", "-sr"); kernel != "" {
		m.System = kernel + " " + runtime.GOARCH
	}
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryBytes = kb << 10
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(firstWords(string(load), 3), " ")
	}
	if runtime.GOOS == "darwin" {
		m.Processor = said("sysctl", "-n", "machdep.cpu.brand_string")
		m.MemoryBytes, _ = strconv.ParseInt(said("sysctl", "-n", "hw.memsize"), 10, 64)
		m.Load = strings.Trim(said("sysctl", "-n", "vm.loadavg"), "{ }")
	}
	return m
}

// String is the machine in a few words.
func (m Machine) String() string {
	words := []string{fmt.Sprintf("%d cores", m.Cores), m.System, m.Go}
	if m.Processor != "" {
		words = append([]string{m.Processor}, words...)
	}
	if m.Load != "" {
		words = append(words, "load "+m.Load)
	}
	return strings.Join(words, ", ")
}

func firstWords(s string, n int) []string {
	words := strings.Fields(s)
	return words[:min(n, len(words))]
}

// field is what a file of "name: value" lines says first, "" for nothing.
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// said is the output of a program of the system, "" where it fails.
func said(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// CPU is the processor time, of user and system, that this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // cannot happen for the own process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

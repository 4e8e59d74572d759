package measure

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Memory is what a process holds after a collection, in bytes.
type Memory struct {
	Heap     uint64 `json:"heap"`     // spans in use
	Stacks   uint64 `json:"stacks"`   // of goroutines
	Resident uint64 `json:"resident"` // as the system counts, 0 where it does not tell
}

// InUse is heap and stacks together.
func (m Memory) InUse() uint64 { return m.Heap + m.Stacks }

// MemoryNow collects, gives what is free back to the system, and looks.
func MemoryNow() Memory {
	runtime.GC() // stacks shrink and pools let go of what the last round left
	runtime.GC() // what the first one finalized
	debug.FreeOSMemory()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return Memory{Heap: s.HeapInuse, Stacks: s.StackInuse, Resident: resident()}
}

// Heap is the memory in use after a collection, stacks included, in bytes.
func Heap() uint64 { return MemoryNow().InUse() }

func resident() uint64 {
	kb, err := strconv.ParseUint(strings.TrimSuffix(field("/proc/self/status", "VmRSS"), " kB"), 10, 64)
	if err == nil {
		return kb << 10
	}
	kb, _ = strconv.ParseUint(said("ps", "-o", "rss=", "-p", strconv.Itoa(os.Getpid())), 10, 64)
	return kb << 10
}

package main

import (
	"os"
	"runtime"
)

// collectorPace is how much is allocated at least between two runs of the collector.
const collectorPace = 32 << 20

// paceCollector keeps the collector from running all the time in a host that has little
// in memory and much to do: there its pace is a run every 4 MiB. What it allocates is
// never touched, so the system gives no memory for it, but it counts as in use, and the
// collector waits for as much again. Where the operator has set a pace, that holds.
func paceCollector() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	ballast := make([]byte, collectorPace)
	return func() { runtime.KeepAlive(ballast) }
}

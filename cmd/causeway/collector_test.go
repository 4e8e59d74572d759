package main

import (
	"runtime"
	"testing"
)

// The collector waits for what its pace says, unless the operator has said otherwise.
func TestPaceCollector(t *testing.T) {
	next := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NextGC - m.HeapAlloc
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	release := paceCollector()
	if n := next(); n < collectorPace {
		t.Errorf("it runs again after %d bytes", n)
	}
	release()
	t.Setenv("GOGC", "100")
	before := next()
	release = paceCollector()
	if n := next(); n > before+collectorPace/2 {
		t.Errorf("it runs again after %d bytes, in place of %d", n, before)
	}
	release()
}

package metric

import (
	"math/bits"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Histogram counts values in buckets whose bounds double. Its methods may be called
// concurrently; Observe does not wait for anything.
type Histogram struct {
	desc   *prometheus.Desc
	unit   uint64  // the first bound, in what Observe takes
	per    float64 // how many of those are one of the metric's
	sum    atomic.Uint64
	counts []atomic.Uint64 // the last one has no bound
}

var _ prometheus.Collector = (*Histogram)(nil)

// Buckets of durations: from 1 µs, doubled 26 times, to 67 s.
const (
	durationUnit    = 1_000 // nanoseconds
	durationBuckets = 27
	perSecond       = 1e9

	// Of long ones: from 10 ms, doubled 20 times, to 2.9 h.
	longUnit    = 10_000_000
	longBuckets = 21
)

// Durations makes a histogram of nanoseconds, which shows seconds. Its name ends in
// _seconds.
func Durations(name, help string) *Histogram {
	return newHistogram(name, help, durationUnit, perSecond, durationBuckets)
}

// LongDurations is Durations for what takes minutes.
func LongDurations(name, help string) *Histogram {
	return newHistogram(name, help, longUnit, perSecond, longBuckets)
}

// Sizes makes a histogram of counts, whose bounds are 1, 2, 4 and so on, buckets of
// them.
func Sizes(name, help string, buckets int) *Histogram {
	return newHistogram(name, help, 1, 1, buckets)
}

func newHistogram(name, help string, unit uint64, per float64, buckets int) *Histogram {
	return &Histogram{
		desc: prometheus.NewDesc(name, help, nil, nil),
		unit: unit, per: per, counts: make([]atomic.Uint64, buckets+1),
	}
}

// Observe counts a value; a negative one counts as nothing at all, which a clock that
// was set back would otherwise make of a duration.
func (h *Histogram) Observe(v int64) {
	n := uint64(max(v, 0))
	h.counts[h.bucket(n)].Add(1)
	h.sum.Add(n)
}

// bucket is the first one whose bound, unit<<i, is not below n.
func (h *Histogram) bucket(n uint64) int {
	if n == 0 {
		return 0
	}
	return min(bits.Len64((n-1)/h.unit), len(h.counts)-1)
}

// Describe implements prometheus.Collector.
func (h *Histogram) Describe(ch chan<- *prometheus.Desc) { ch <- h.desc }

// Collect implements prometheus.Collector.
func (h *Histogram) Collect(ch chan<- prometheus.Metric) {
	sum := h.sum.Load()
	last := len(h.counts) - 1
	bounds := make(map[float64]uint64, last)
	total := uint64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
		if i < last {
			bounds[float64(h.unit<<i)/h.per] = total
		}
	}
	ch <- prometheus.MustNewConstHistogram(h.desc, total, float64(sum)/h.per, bounds)
}

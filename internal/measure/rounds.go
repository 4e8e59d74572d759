package measure

import (
	"slices"
	"time"
)

// Rounds are what several measurements of one number gave, in any order.
type Rounds []float64

// Median is the middle one, the lower of two; 0 for none. A mean would follow
// whatever disturbs the machine.
func (r Rounds) Median() float64 {
	if len(r) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r))
	return sorted[(len(sorted)-1)/2]
}

// Over returns the figure with the median of the rounds as its value and, for more
// than one, their spread.
func (f Figure) Over(r Rounds) Figure {
	f.Value = r.Median()
	if len(r) > 1 {
		f.Rounds, f.Low, f.High = len(r), slices.Min(r), slices.Max(r)
	}
	return f
}

// Beside returns the figure with a peer's median next to it. Without rounds the
// peer was not there: why says so.
func (f Figure) Beside(peer string, theirs Rounds, why string) Figure {
	f.Peer, f.Note = peer, why
	if v := theirs.Median(); v > 0 {
		f.PeerValue, f.Ratio = v, f.Value/v
	}
	return f
}

// Percentile is the duration below which p of the samples lie, 0 <= p <= 1; 0
// without samples. It sorts the samples.
func Percentile(samples []time.Duration, p float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	return samples[min(len(samples)-1, int(p*float64(len(samples))))]
}

package metric

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Table counts messages and their bytes by name, for a fixed set of names. They are
// counted in runs, one for each goroutine that counts, and come here when a run ends.
type Table struct {
	names   []string
	index   map[string]int
	rows    []row
	runs    func(each func(*Run)) // visits the runs under way
	numbers *prometheus.Desc
	bytes   *prometheus.Desc

	mu    sync.Mutex // of Collect
	shown []total
}

// row is what has ended of one name.
type row struct{ n, bytes atomic.Uint64 }

type total struct{ n, bytes uint64 }

// MaxNames is how many names a table can have.
const MaxNames = 1 << kindBits

var _ prometheus.Collector = (*Table)(nil)

// NewTable makes a table of the names, which must differ and be at most MaxNames. The
// metrics carry them as the label kind; numbers and bytes are their names. Runs visits
// the runs that have not ended; it is called when somebody looks.
func NewTable(numbers, numbersHelp, bytes, bytesHelp string, names []string, runs func(each func(*Run))) *Table {
	if len(names) > MaxNames {
		panic(fmt.Sprintf("metric: %d names in a table, at most %d can be", len(names), MaxNames))
	}
	t := &Table{
		names: names, index: make(map[string]int, len(names)), rows: make([]row, len(names)), runs: runs, shown: make([]total, len(names)),
		numbers: prometheus.NewDesc(numbers, numbersHelp, []string{"kind"}, nil),
		bytes:   prometheus.NewDesc(bytes, bytesHelp, []string{"kind"}, nil),
	}
	for i, name := range names {
		t.index[name] = i
	}
	return t
}

// Index is where a name stands; it is false for a name the table does not have.
func (t *Table) Index(name string) (i int, ok bool) {
	i, ok = t.index[name]
	return i, ok
}

// Len is how many names there are.
func (t *Table) Len() int { return len(t.names) }

// Name is the name that stands at i.
func (t *Table) Name(i int) string { return t.names[i] }

// Describe implements prometheus.Collector.
func (t *Table) Describe(ch chan<- *prometheus.Desc) {
	ch <- t.numbers
	ch <- t.bytes
}

// Collect implements prometheus.Collector. Every name is shown, also one that was
// never counted: a rate begins at nothing then.
func (t *Table) Collect(ch chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, now := range t.sum() {
		last := &t.shown[i]
		last.n, last.bytes = max(last.n, now.n), max(last.bytes, now.bytes)
		ch <- prometheus.MustNewConstMetric(t.numbers, prometheus.CounterValue, float64(last.n), t.names[i])
		ch <- prometheus.MustNewConstMetric(t.bytes, prometheus.CounterValue, float64(last.bytes), t.names[i])
	}
}

// sum adds the runs under way to what has ended, in this order: a run that ends in
// between is missed, never seen twice, so that what is shown is right the next time and
// Collect need only keep it from falling.
func (t *Table) sum() []total {
	all := make([]total, len(t.names))
	for i := range t.rows {
		all[i] = total{t.rows[i].n.Load(), t.rows[i].bytes.Load()}
	}
	t.runs(func(r *Run) {
		i, n, bytes := unpack(r.v.Load())
		all[i].n += n
		all[i].bytes += bytes
	})
	return all
}

// Run counts for one goroutine: messages of the same name, as long as no other comes.
// That is one addition for any number of them, in memory nobody else writes to. The zero
// value is ready.
type Run struct{ v atomic.Uint64 } // name, number, bytes, see unpack

// How a run is packed. It ends before its number or its bytes reach the highest bit they
// have, so one addition may have up to half of what there is room for.
const (
	kindBits   = 8
	numberBits = 20
	byteBits   = 64 - kindBits - numberBits // 64 GiB

	full = 1<<(byteBits-1) | 1<<(byteBits+numberBits-1)
)

func unpack(v uint64) (i int, n, bytes uint64) {
	return int(v >> (numberBits + byteBits)), v >> byteBits & (1<<numberBits - 1), v & (1<<byteBits - 1)
}

// Add counts n messages, at most half a million, of so many bytes together under the
// name that stands at i. Only one goroutine may add to a run at a time.
func (r *Run) Add(t *Table, i, n, bytes int) {
	add := uint64(n)<<byteBits | uint64(bytes)
	if now := r.v.Load(); int(now>>(numberBits+byteBits)) != i {
		t.take(r.v.Swap(uint64(i)<<(numberBits+byteBits) | add))
	} else if r.v.Add(add)&full != 0 {
		r.End(t)
	}
}

// End gives the table what the run has. The run may go on.
func (r *Run) End(t *Table) { t.take(r.v.Swap(0)) }

func (t *Table) take(v uint64) {
	i, n, bytes := unpack(v)
	t.rows[i].n.Add(n)
	t.rows[i].bytes.Add(bytes)
}

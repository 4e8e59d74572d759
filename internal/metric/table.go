package metric

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Table counts messages and their bytes by name, for a fixed set of names. Whoever
// counts passes a shard, such as its own number: those with different shards do not
// share a cache line.
type Table struct {
	names   []string
	index   map[string]int
	rows    []row // shards × names
	numbers *prometheus.Desc
	bytes   *prometheus.Desc
}

// row is one name of one shard.
type row struct{ n, bytes atomic.Uint64 }

// shards is how many connections can count at a time without meeting. It is a power
// of two.
const shards = 8

var _ prometheus.Collector = (*Table)(nil)

// NewTable makes a table of the names, which must differ. The metrics carry them as the
// label kind; numbers and bytes are their names.
func NewTable(numbers, numbersHelp, bytes, bytesHelp string, names []string) *Table {
	t := &Table{
		names: names, index: make(map[string]int, len(names)), rows: make([]row, shards*len(names)),
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

// Add counts n messages of so many bytes together under the name that stands at i.
func (t *Table) Add(shard uint64, i, n, bytes int) {
	r := &t.rows[int(shard%shards)*len(t.names)+i]
	r.n.Add(uint64(n))
	r.bytes.Add(uint64(bytes))
}

// Sum is what has been counted under the name that stands at i.
func (t *Table) Sum(i int) (n, bytes uint64) {
	for ; i < len(t.rows); i += len(t.names) {
		n += t.rows[i].n.Load()
		bytes += t.rows[i].bytes.Load()
	}
	return n, bytes
}

// Describe implements prometheus.Collector.
func (t *Table) Describe(ch chan<- *prometheus.Desc) {
	ch <- t.numbers
	ch <- t.bytes
}

// Collect implements prometheus.Collector. Every name is shown, also one that was
// never counted: a rate begins at nothing then.
func (t *Table) Collect(ch chan<- prometheus.Metric) {
	for i, name := range t.names {
		n, bytes := t.Sum(i)
		ch <- prometheus.MustNewConstMetric(t.numbers, prometheus.CounterValue, float64(n), name)
		ch <- prometheus.MustNewConstMetric(t.bytes, prometheus.CounterValue, float64(bytes), name)
	}
}

// Package limittest helps to take every limit of a table to its bound.
package limittest

import (
	"fmt"
	"testing"

	"github.com/causeway-ahp/causeway/internal/limit"
	"github.com/prometheus/client_golang/prometheus"
)

// Every runs the drive of each row as a subtest. A row without a drive fails, and so
// does a drive without a row.
func Every[D any](t *testing.T, rows []limit.Row, drives map[string]D, run func(t *testing.T, row limit.Row, drive D)) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			drive, ok := drives[row.Name]
			if !ok {
				t.Fatal("the limit has no drive")
			}
			run(t, row, drive)
		})
	}
	if len(drives) != len(rows) {
		t.Errorf("%d drives for %d rows", len(drives), len(rows))
	}
}

// Counter follows the counter of a row.
type Counter struct {
	t       testing.TB
	metrics prometheus.Gatherer
	metric  string
	before  float64
}

// Follow counts from now on.
func Follow(t testing.TB, metrics prometheus.Gatherer, row limit.Row) *Counter {
	t.Helper()
	c := &Counter{t: t, metrics: metrics, metric: row.Metric()}
	c.before = c.read()
	return c
}

// Hits is how often the limit was met since Follow.
func (c *Counter) Hits() float64 {
	c.t.Helper()
	return c.read() - c.before
}

// Within fails the test when the limit was met already.
func (c *Counter) Within() {
	c.t.Helper()
	if n := c.Hits(); n != 0 {
		c.t.Errorf("%s rose by %v within the bound", c.metric, n)
	}
}

// Over fails the test when the limit was not met.
func (c *Counter) Over() {
	c.t.Helper()
	if c.Hits() == 0 {
		c.t.Errorf("%s did not rise", c.metric)
	}
}

// read sums what has the row's name and label, whatever other labels it has.
func (c *Counter) read() (sum float64) {
	c.t.Helper()
	families, err := c.metrics.Gather()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			match := f.GetName() == c.metric
			for _, l := range m.GetLabel() {
				match = match || fmt.Sprintf("%s{%s=%q}", f.GetName(), l.GetName(), l.GetValue()) == c.metric
			}
			if match {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

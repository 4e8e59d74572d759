package telemetry

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// sendMetrics sends what the registry of the host has.
func (f *Feature) sendMetrics() {
	if len(f.watching(MetricsURI)) == 0 {
		return
	}
	families, err := f.host.Metrics().Gather()
	if err != nil { // what could be gathered is there
		f.dropped.WithLabelValues(metrics.name).Inc()
	}
	at := times{f.began, time.Now()}
	list := make([]metric, 0, len(families))
	for _, family := range families {
		list = append(list, at.metric(family))
	}
	f.send(metrics, MetricsURI, list)
}

// times are when counting began, and now.
type times struct{ began, now time.Time }

func (at times) metric(family *dto.MetricFamily) metric {
	m := metric{Name: family.GetName(), About: family.GetHelp()}
	switch family.GetType() {
	case dto.MetricType_COUNTER:
		m.Sum = &sum{Points: at.points(family, func(x *dto.Metric) float64 { return x.GetCounter().GetValue() }), Temporality: cumulativeSums, Monotonic: true}
	case dto.MetricType_HISTOGRAM:
		m.Histogram = &histogram{Points: at.histograms(family), Temporality: cumulativeSums}
	case dto.MetricType_SUMMARY:
		m.Summary = &summary{Points: at.summaries(family)}
	default:
		m.Gauge = &gauge{Points: at.points(family, func(x *dto.Metric) float64 { return x.GetGauge().GetValue() + x.GetUntyped().GetValue() })}
	}
	return m
}

func labels(x *dto.Metric) (list []attribute) {
	for _, l := range x.GetLabel() {
		list = append(list, text(l.GetName(), l.GetValue()))
	}
	return list
}

// finite reports whether JSON has the number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (at times) points(family *dto.MetricFamily, value func(*dto.Metric) float64) []point {
	list := []point{}
	for _, x := range family.GetMetric() {
		if v := value(x); finite(v) {
			list = append(list, point{labels(x), unixNano(at.began), unixNano(at.now), v})
		}
	}
	return list
}

// histograms turns cumulative buckets into those of OTLP, where each counts by itself
// and the last has no bound.
func (at times) histograms(family *dto.MetricFamily) []histogramPoint {
	list := []histogramPoint{}
	for _, x := range family.GetMetric() {
		h := x.GetHistogram()
		p := histogramPoint{
			Attributes: labels(x), Start: unixNano(at.began), Time: unixNano(at.now),
			Count: integer(h.GetSampleCount()), Sum: h.GetSampleSum(), Bounds: []float64{},
		}
		below := uint64(0)
		for _, b := range h.GetBucket() {
			if !finite(b.GetUpperBound()) {
				continue
			}
			p.Bounds = append(p.Bounds, b.GetUpperBound())
			p.Buckets = append(p.Buckets, integer(b.GetCumulativeCount()-below))
			below = b.GetCumulativeCount()
		}
		p.Buckets = append(p.Buckets, integer(h.GetSampleCount()-below))
		if finite(p.Sum) {
			list = append(list, p)
		}
	}
	return list
}

func (at times) summaries(family *dto.MetricFamily) []summaryPoint {
	list := []summaryPoint{}
	for _, x := range family.GetMetric() {
		s := x.GetSummary()
		p := summaryPoint{
			Attributes: labels(x), Start: unixNano(at.began), Time: unixNano(at.now),
			Count: integer(s.GetSampleCount()), Sum: s.GetSampleSum(),
		}
		for _, q := range s.GetQuantile() {
			if finite(q.GetValue()) {
				p.Quantiles = append(p.Quantiles, quantile{q.GetQuantile(), q.GetValue()})
			}
		}
		if finite(p.Sum) {
			list = append(list, p)
		}
	}
	return list
}

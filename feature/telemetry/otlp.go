package telemetry

import (
	"strconv"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json/jsontext"
)

// The parts of OTLP that are sent, in its JSON mapping: names in camel case, 64-bit
// integers as strings, ids in hexadecimal, enumerations as numbers.

type attribute struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

// anyValue has one member.
type anyValue struct {
	String *string  `json:"stringValue,omitzero"`
	Bool   *bool    `json:"boolValue,omitzero"`
	Int    *integer `json:"intValue,omitzero"`
	Double *float64 `json:"doubleValue,omitzero"`
}

// integer is a 64-bit integer, which JSON numbers cannot hold.
type integer int64

// MarshalJSON implements json.Marshaler.
func (i integer) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(i), 10)), nil
}

func text(key, value string) attribute { return attribute{key, anyValue{String: &value}} }

// unixNano is a time.
func unixNano(t time.Time) integer { return integer(t.UnixNano()) }

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type logRecord struct {
	Time       integer     `json:"timeUnixNano"`
	Observed   integer     `json:"observedTimeUnixNano"`
	Severity   int         `json:"severityNumber"`
	Level      string      `json:"severityText"`
	Body       anyValue    `json:"body"`
	Attributes []attribute `json:"attributes,omitempty"`
}

type span struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      integer     `json:"startTimeUnixNano"`
	End        integer     `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     status      `json:"status"`
}

type status struct {
	Code    int    `json:"code,omitzero"`
	Message string `json:"message,omitempty"`
}

// Codes and kinds of OTLP.
const (
	kindInternal   = 1
	statusOK       = 1
	statusError    = 2
	cumulativeSums = 2
)

type point struct {
	Attributes []attribute `json:"attributes,omitempty"`
	Start      integer     `json:"startTimeUnixNano"`
	Time       integer     `json:"timeUnixNano"`
	Value      float64     `json:"asDouble"`
}

type histogramPoint struct {
	Attributes []attribute `json:"attributes,omitempty"`
	Start      integer     `json:"startTimeUnixNano"`
	Time       integer     `json:"timeUnixNano"`
	Count      integer     `json:"count"`
	Sum        float64     `json:"sum"`
	Buckets    []integer   `json:"bucketCounts"`
	Bounds     []float64   `json:"explicitBounds"`
}

type summaryPoint struct {
	Attributes []attribute `json:"attributes,omitempty"`
	Start      integer     `json:"startTimeUnixNano"`
	Time       integer     `json:"timeUnixNano"`
	Count      integer     `json:"count"`
	Sum        float64     `json:"sum"`
	Quantiles  []quantile  `json:"quantileValues,omitempty"`
}

type quantile struct {
	Quantile float64 `json:"quantile"`
	Value    float64 `json:"value"`
}

type metric struct {
	Name      string     `json:"name"`
	About     string     `json:"description,omitempty"`
	Gauge     *gauge     `json:"gauge,omitzero"`
	Sum       *sum       `json:"sum,omitzero"`
	Histogram *histogram `json:"histogram,omitzero"`
	Summary   *summary   `json:"summary,omitzero"`
}

type gauge struct {
	Points []point `json:"dataPoints"`
}

type sum struct {
	Points      []point `json:"dataPoints"`
	Temporality int     `json:"aggregationTemporality"`
	Monotonic   bool    `json:"isMonotonic"`
}

type histogram struct {
	Points      []histogramPoint `json:"dataPoints"`
	Temporality int              `json:"aggregationTemporality"`
}

type summary struct {
	Points []summaryPoint `json:"dataPoints"`
}

// export wraps what one signal has in a request of OTLP: names are those of the
// members around it.
func (f *Feature) export(s signal, items any) (jsontext.Value, error) {
	raw, err := ahp.Marshal(items)
	if err != nil {
		return nil, err
	}
	from, err := ahp.Marshal(f.resource)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"resource`+s.members[0]+`":[{"resource":`), from...)
	out = append(out, `,"scope`+s.members[0]+`":[{"scope":{"name":"causeway"},"`+s.members[1]+`":`...)
	return append(append(out, raw...), `}]}]}`...), nil
}

// signal is one of the three.
type signal struct {
	name    string
	method  string
	members [2]string
}

var (
	logs    = signal{"logs", ahp.MethodExportLogs, [2]string{"Logs", "logRecords"}}
	traces  = signal{"traces", ahp.MethodExportTraces, [2]string{"Spans", "spans"}}
	metrics = signal{"metrics", ahp.MethodExportMetrics, [2]string{"Metrics", "metrics"}}
)

package measure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
)

// Figure is one measured number.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Goal is what the number should reach, for people; "" for none.
	Goal string `json:"goal,omitzero"`
	// Peer names what it was compared with in the same run, and Ratio is our value
	// over the peer's. An absent peer is named with Ratio 0 and why in Note.
	Peer  string  `json:"peer,omitzero"`
	Ratio float64 `json:"ratio,omitzero"`
	Note  string  `json:"note,omitzero"`
}

// Report collects figures in the order in which they were measured. It is not safe
// for concurrent use.
type Report struct {
	Machine string    `json:"machine"`
	Version string    `json:"version"`
	Date    string    `json:"date"` // of the run, YYYY-MM-DD
	Figures []*Figure `json:"figures"`
}

// NewReport begins a report of this machine, now.
func NewReport(version string) *Report {
	return &Report{Machine: Machine(), Version: version, Date: time.Now().UTC().Format(time.DateOnly)}
}

// Add appends a figure.
func (r *Report) Add(f Figure) *Figure {
	r.Figures = append(r.Figures, &f)
	return &f
}

// WriteJSON writes one figure a line, as a JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	for _, f := range r.Figures {
		if err := json.MarshalWrite(w, f); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	return nil
}

// WriteTable writes a table for people, which is Markdown too.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s, %s\n\n", r.Date, r.Version, r.Machine)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...string) { fmt.Fprintf(t, "| %s |\n", strings.Join(cells, "\t| ")) }
	line("What", "Measured", "Goal", "Beside")
	line("---", "---", "---", "---")
	for _, f := range r.Figures {
		line(f.Name, strings.TrimSpace(Number(f.Value)+" "+f.Unit), f.Goal, f.beside())
	}
	return t.Flush()
}

func (f *Figure) beside() string {
	switch {
	case f.Peer == "":
		return f.Note
	case f.Ratio == 0:
		return strings.TrimSpace(f.Peer + ": " + f.Note)
	}
	return strings.TrimSpace(fmt.Sprintf("%s x %s %s", Number(f.Ratio), f.Peer, f.Note))
}

// Number writes a value with three significant digits, thousands apart.
func Number(v float64) string {
	switch {
	case v >= 1000:
		digits := fmt.Sprintf("%.0f", v)
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
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

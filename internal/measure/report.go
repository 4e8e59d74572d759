package measure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/go-json-experiment/json"
)

// Figure is one measured number.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"` // the median, where there were rounds
	Unit  string  `json:"unit"`
	// Section groups figures in tables.
	Section string `json:"section,omitzero"`
	// Rounds is how often it was measured; Low and High are the extremes.
	Rounds int     `json:"rounds,omitzero"`
	Low    float64 `json:"low,omitzero"`
	High   float64 `json:"high,omitzero"`
	Goal   Goal    `json:"goal,omitzero"`
	// Judged is filled in when the figure is written.
	Judged Verdict `json:"verdict,omitzero"`
	// Peer names what it was compared with in the same run, and Ratio is our value
	// over PeerValue. An absent peer is named with Ratio 0 and why in Note.
	Peer      string  `json:"peer,omitzero"`
	PeerValue float64 `json:"peerValue,omitzero"`
	Ratio     float64 `json:"ratio,omitzero"`
	Note      string  `json:"note,omitzero"`
}

// Report collects figures in the order in which they were measured. It is not safe
// for concurrent use.
type Report struct {
	Machine Machine   `json:"machine"`
	Version string    `json:"version"`
	Date    string    `json:"date"` // of the run, YYYY-MM-DD
	Figures []*Figure `json:"-"`

	section string
}

// NewReport begins a report of this machine, now.
func NewReport(version string) *Report {
	return &Report{Machine: ThisMachine(), Version: version, Date: time.Now().UTC().Format(time.DateOnly)}
}

// Section begins a group of figures.
func (r *Report) Section(name string) { r.section = name }

// Add appends a figure.
func (r *Report) Add(f Figure) *Figure {
	if f.Section == "" {
		f.Section = r.section
	}
	r.Figures = append(r.Figures, &f)
	return &f
}

// WriteJSON writes what the report is about as a JSON object on one line, then one
// figure a line.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := writeLine(w, r); err != nil {
		return err
	}
	for _, f := range r.Figures {
		f.Judged = f.Verdict()
		if err := writeLine(w, f); err != nil {
			return err
		}
	}
	return nil
}

func writeLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Collect runs a program that writes a report as JSON, and adds its figures.
// It returns the version the other report names.
func (r *Report) Collect(program *exec.Cmd) (version string, err error) {
	out, err := program.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	var head Report
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil {
		return "", fmt.Errorf("%s: %w", program, errNoReport)
	}
	for lines.Scan() {
		var f Figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return "", fmt.Errorf("%s: %w: %w", program, errNoReport, err)
		}
		r.Add(f)
	}
	return head.Version, nil
}

var errNoReport = errors.New("it printed no report")

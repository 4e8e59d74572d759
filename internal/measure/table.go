package measure

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes a table for people, which is Markdown too.
func (r *Report) WriteTable(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s, %s, %s\n\n", r.Date, r.Version, r.Machine); err != nil {
		return err
	}
	return writeFigures(w, r.Figures)
}

func writeFigures(w io.Writer, figures []*Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	line := func(cells ...string) { fmt.Fprintf(t, "| %s |\n", strings.Join(cells, "\t| ")) }
	line("What", "Measured", "Goal", "", "Beside", "Spread")
	line("---", "---", "---", "---", "---", "---")
	for _, f := range figures {
		line(f.Name, strings.TrimSpace(Number(f.Value)+" "+f.Unit), string(f.Goal), string(f.Verdict()), f.beside(), f.spread())
	}
	return t.Flush()
}

// beside is the peer with the ratio to it, then the note.
func (f *Figure) beside() string {
	switch {
	case f.Peer == "":
		return f.Note
	case f.Ratio == 0:
		return strings.TrimSpace(f.Peer + ": " + f.Note)
	}
	return strings.TrimSpace(fmt.Sprintf("%s x %s (%s) %s", Number(f.Ratio), f.Peer, Number(f.PeerValue), f.Note))
}

func (f *Figure) spread() string {
	if f.Rounds < 2 {
		return ""
	}
	return fmt.Sprintf("%s to %s in %d rounds", Number(f.Low), Number(f.High), f.Rounds)
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

package measure

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
)

// Page is what a dated page says around its tables.
type Page struct {
	Command string // what was run, to be run again
	Quick   bool   // little was measured
}

// preface stands above every page; the command follows.
const preface = `# Benchmarks

What this program needs and how fast it is, each figure beside its goal and beside
the programs people compare it with, measured in one run. This page is written by
the command that measures:

    cd bench && go run . -markdown ../docs/BENCHMARKS.md    # all of it, eight minutes at most; -quick for a rough idea
    causeway bench                                          # this program alone

A value is the median of its rounds, with the lowest and the highest at the end of
the line. A ratio is our value over that of the peer, measured in turns with ours;
a peer that could not be had is named with the reason.

`

// WritePage writes the report as a page of Markdown.
func (r *Report) WritePage(w io.Writer, p Page) error {
	var b bytes.Buffer
	b.WriteString(preface)
	worth := ""
	if p.Quick {
		worth = " A quick run: the figures are worth little."
	}
	fmt.Fprintf(&b, "## %s\n\n%s, measured by `%s`.%s\n\n", r.Date, r.Version, p.Command, worth)
	b.WriteString("| Machine | |\n| --- | --- |\n")
	for _, row := range [][2]string{
		{"Processor", fmt.Sprintf("%s, %d cores", orUnknown(r.Machine.Processor), r.Machine.Cores)},
		{"Memory", fmt.Sprintf("%s GiB", Number(float64(r.Machine.MemoryBytes)/(1<<30)))},
		{"System", r.Machine.System},
		{"Go", r.Machine.Go},
		{"Load at the start", orUnknown(r.Machine.Load)},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	for section, figures := range r.sections() {
		fmt.Fprintf(&b, "\n### %s\n\n", section)
		if err := writeFigures(&b, figures); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WritePageFile replaces a file by the page.
func (r *Report) WritePageFile(path string, p Page) error {
	var b bytes.Buffer
	if err := r.WritePage(&b, p); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// sections yields the figures of each section, in the order of the first of each.
func (r *Report) sections() iter.Seq2[string, []*Figure] {
	var order []string
	groups := make(map[string][]*Figure)
	for _, f := range r.Figures {
		if groups[f.Section] == nil {
			order = append(order, f.Section)
		}
		groups[f.Section] = append(groups[f.Section], f)
	}
	return func(yield func(string, []*Figure) bool) {
		for _, name := range order {
			if !yield(name, groups[name]) {
				return
			}
		}
	}
}

package wiretrace

import (
	"fmt"
	"strings"
)

// report shows a comparison that failed, message by message, and is empty if
// none did.
func report(rows []row) string {
	var b strings.Builder
	failed := false
	for i, r := range rows {
		failed = failed || !r.same()
		reportRow(&b, i+1, r)
	}
	if !failed {
		return ""
	}
	return strings.TrimRight(b.String(), "\n")
}

func reportRow(b *strings.Builder, n int, r row) {
	switch {
	case r.want == nil:
		fmt.Fprintf(b, "  %d unexpected %s\n", n, r.got)
	case r.got == nil:
		fmt.Fprintf(b, "  %d missing    %s\n", n, r.want.text)
	case r.err != nil:
		fmt.Fprintf(b, "  %d differs    %v\n       got   %s\n       want  %s\n", n, r.err, r.got, r.want.text)
	default:
		fmt.Fprintf(b, "  %d as wanted  %s\n", n, r.got)
	}
}

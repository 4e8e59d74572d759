package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/causeway-ahp/causeway/notify"
	"github.com/go-json-experiment/json/jsontext"
)

func printItems(w io.Writer, items []notify.Item, asJSON bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "STATE\tFIRED\tTRIGGER\tTOOL\tTRIES\tWHY\tENDPOINT\tNOTIFICATION")
	}
	for _, it := range items {
		if asJSON {
			if err := printJSON(w, it); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", it.State, moment(it.FiredAt), it.Trigger, oneLine(it.Tool, 24),
			it.Attempts, cmp.Or(why(it), "-"), oneLine(cmp.Or(it.Endpoint, "-"), 60), it.ID)
	}
	return table.Flush()
}

// why says in a word or two what stands between a notification and its endpoint.
func why(it notify.Item) string {
	switch {
	case it.Reason != "" && it.Last != "" && it.Reason != "no_route":
		return it.Reason + ": " + it.Last
	case it.Reason != "":
		return it.Reason
	case it.State == "pending" && it.Last != "" && !it.DueAt.IsZero():
		return it.Last + ", again " + until(it.DueAt)
	}
	return it.Last
}

// moment tells a time of the past by its distance.
func moment(t time.Time) string { return ago(t.Format(time.RFC3339)) }

// until tells a time to come by its distance.
func until(t time.Time) string {
	d := time.Until(t).Round(time.Second)
	if d <= 0 {
		return "now"
	}
	return "in " + d.String()
}

func printDetail(w io.Writer, d notify.Detail) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "0" {
			fmt.Fprintf(table, "%s\t%s\n", name, oneLine(text, 200))
		}
	}
	line("notification", d.ID)
	line("call", d.CallID)
	line("tool", d.Tool)
	line("server", d.Server)
	line("trigger", d.Trigger)
	line("state", d.State)
	line("why", why(d.Item))
	line("route", d.Route)
	line("endpoint", d.Endpoint)
	line("fired", d.FiredAt.Local().Format(time.RFC3339))
	if !d.EndedAt.IsZero() {
		line("ended", d.EndedAt.Local().Format(time.RFC3339))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := printTries(w, d.Tries); err != nil || d.Body == nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", printable(indented(d.Body)))
	return err
}

func printTries(w io.Writer, tries []notify.Attempt) error {
	if len(tries) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nATTEMPT\tAT\tROUTE\tCLASS\tSTATUS\tWHY\tTOOK")
	for _, a := range tries {
		status := "-"
		if a.Status != 0 {
			status = fmt.Sprint(a.Status)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%dms\n", a.Number, a.Started.Local().Format(time.RFC3339), a.Route, a.Class, status,
			cmp.Or(a.Category, "-"), a.Millis)
	}
	return table.Flush()
}

func indented(raw jsontext.Value) string {
	clean := raw.Clone()
	if err := clean.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(raw)
	}
	return string(clean)
}

func printCall(w io.Writer, s notify.Summary, items []notify.Item) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "call\t%s\ntool\t%s\nstate\t%s\n", s.CallID, oneLine(s.Tool, 80), s.State)
	if s.Trigger != "" {
		fmt.Fprintf(table, "trigger\t%s\n", s.Trigger)
	}
	fmt.Fprintf(table, "started\t%s\n", s.StartedAt.Local().Format(time.RFC3339))
	if err := table.Flush(); err != nil {
		return err
	}
	if len(items) > 0 {
		fmt.Fprintln(w)
		if err := printItems(w, items, false); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		title string
		value jsontext.Value
	}{{"result", s.Result}, {"late result", s.Late}} {
		if part.value == nil {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s:\n%s\n", part.title, printable(indented(part.value))); err != nil {
			return err
		}
	}
	return nil
}

func printEndpoints(w io.Writer, list []notify.EndpointInfo, asJSON bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "STATE\tUSED\tWAITING\tPRINCIPAL\tWHY\tENDPOINT\tID")
	}
	for _, ep := range list {
		if asJSON {
			if err := printJSON(w, ep); err != nil {
				return err
			}
			continue
		}
		reason := cmp.Or(ep.Reason, ep.Proof, "-")
		if ep.State == "verified" && !ep.FailingSince.IsZero() {
			reason = "failing since " + ep.FailingSince.Local().Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", ep.State, moment(ep.UsedAt), ep.Pending, oneLine(ep.Principal, 30), reason,
			oneLine(ep.Endpoint, 60), ep.ID)
	}
	return table.Flush()
}

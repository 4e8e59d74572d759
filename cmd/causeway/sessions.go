package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/spf13/cobra"
)

func newSessions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List the sessions of a host", GroupID: groupClient,
		Long: "Lists the sessions of a host, the one modified last first.",
		Args: args(cobra.NoArgs), RunE: runSessions,
	}
	addURLFlag(cmd)
	cmd.Flags().Bool("json", false, "print each session's summary as JSON, one a line")
	return cmd
}

func runSessions(cmd *cobra.Command, _ []string) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	url, err := resolveURL(cmd)
	if err != nil {
		return err
	}
	c, err := connect(cmd.Context(), url)
	if err != nil {
		return err
	}
	defer c.Close()
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	count := 0
	for s, err := range c.ListSessions(cmd.Context()) {
		if err != nil {
			return fmt.Errorf("list sessions: %w", err)
		}
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), s); err != nil {
				return err
			}
			continue
		}
		if count == 0 {
			fmt.Fprintln(table, "STATUS\tMODIFIED\tAGENT\tTITLE\tSESSION")
		}
		count++
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", statusWord(s.Status), ago(s.ModifiedAt), oneLine(s.Provider, 20), oneLine(s.Title, 50), s.Resource)
	}
	if count == 0 && !asJSON {
		fmt.Fprintln(cmd.ErrOrStderr(), "no sessions yet; 'causeway run MESSAGE' makes one")
	}
	return table.Flush()
}

// printJSON writes a protocol object on one line.
func printJSON(w io.Writer, v any) error {
	raw, err := ahp.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", raw)
	return err
}

// statusWord is what a session or chat does, in a word.
func statusWord(s ahp.Status) string {
	switch s.Activity() {
	case ahp.StatusInputNeeded:
		return "waiting"
	case ahp.StatusInProgress:
		return "running"
	case ahp.StatusError:
		return "error"
	}
	return "idle"
}

// ago tells a time of the protocol by its distance.
func ago(timestamp string) string {
	t, err := time.Parse(time.RFC3339, timestamp)
	if err != nil {
		return "?"
	}
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return t.Local().Format("2006-01-02")
}

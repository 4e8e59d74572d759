package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// build describes this binary.
type build struct {
	Version   string   `json:"version"`
	Commit    string   `json:"commit,omitzero"`
	Modified  bool     `json:"modified,omitzero"` // built from changed files
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Protocol  string   `json:"protocol"`
	Supported []string `json:"supportedProtocols"`
}

// thisBuild reads what the linker noted. A build without a version is called
// "(devel)", and all of those count as the same.
func thisBuild() build {
	b := build{
		Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Protocol: ahp.Current.String(), Supported: ahp.SupportedRanges,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// buildVersion is the version alone, as a host and a client tell each other.
func buildVersion() string { return thisBuild().Version }

// String is the text form, one line a fact.
func (b build) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "causeway %s", b.Version)
	if b.Commit != "" {
		fmt.Fprintf(&s, " (commit %s", b.Commit)
		if b.Modified {
			s.WriteString(", modified")
		}
		s.WriteString(")")
	}
	fmt.Fprintf(&s, "\nprotocol %s (accepts %s)\n%s %s\n", b.Protocol, strings.Join(b.Supported, ", "), b.Go, b.Platform)
	return s.String()
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program and of the protocol",
		GroupID: groupOther,
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if !asJSON {
				_, err := fmt.Fprint(cmd.OutOrStdout(), b)
				return err
			}
			data, err := json.Marshal(b)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", data)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

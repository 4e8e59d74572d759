package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/spf13/cobra"
)

// Groups of commands in the help.
const (
	groupClient = "client"
	groupHost   = "host"
	groupOther  = "other"
)

const rootLong = `Causeway lets many clients share agent sessions on one machine. A host keeps the
sessions; editors, terminals and scripts connect to it over the Agent Host
Protocol (AHP) and all see the same.

Commands that need a host use the one of this user, found through its state
directory (--data), or the one that --url or CAUSEWAY_URL names.`

const rootExample = `  causeway serve                 run a host in this terminal
  causeway token add laptop      let another machine in
  causeway stop                  end the host that runs in the background`

// newRoot builds the command tree.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:               "causeway",
		Short:             "Share agent sessions between clients (Agent Host Protocol)",
		Long:              rootLong,
		Example:           rootExample,
		Args:              args(noSuchCommand),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.PersistentFlags().String("data", "", "state `directory` (default: the user's own)")
	root.AddCommand(newExport(), newImport(), newDoctor())
	root.AddCommand(newService())
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	root.AddCommand(newRun(), newWatch(), newTelemetry(), newSessions(), newForward(), newServe(), newStop(), newToken(), newAgent(), newVersion(), newBench())
	root.AddCommand(newNotify(), newMCP())
	addGroups(root)
	return root
}

// addGroups titles the groups that have a command; cobra would show an empty one.
func addGroups(root *cobra.Command) {
	for _, g := range []cobra.Group{
		{ID: groupClient, Title: "Sessions:"},
		{ID: groupHost, Title: "Hosts:"},
		{ID: groupOther, Title: "Other:"},
	} {
		if slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.GroupID == g.ID }) {
			root.AddGroup(&g)
		}
	}
}

// noSuchCommand refuses what cobra took for an argument of the root command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%s", text)
}

// dataDir returns the state directory of --data without touching it.
func dataDir(cmd *cobra.Command) (datadir.Dir, error) {
	path, err := dataPath(cmd)
	if err != nil {
		return datadir.Dir{}, err
	}
	return datadir.At(path)
}

// openDataDir returns the state directory of --data, made if it is not there.
func openDataDir(cmd *cobra.Command) (datadir.Dir, error) {
	path, err := dataPath(cmd)
	if err != nil {
		return datadir.Dir{}, err
	}
	return datadir.Open(path)
}

func dataPath(cmd *cobra.Command) (string, error) {
	path, err := cmd.Flags().GetString("data")
	if err != nil || path != "" {
		return path, err
	}
	return datadir.Default()
}

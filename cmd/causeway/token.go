package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/causeway-ahp/causeway/internal/datadir"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Add, list and remove named tokens",
		Long: `A named token lets somebody else, or another machine, connect to the host under a
name of its own. Only a digest of it is kept. A running host takes changes into
account for the next connection; open ones stay.`,
		Example: `  causeway token add laptop
  causeway token list
  causeway token remove laptop`,
		GroupID: groupHost,
		Args:    args(noSuchCommand),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().String("tokens", "", "`file` of the tokens (default: tokens.yaml in the state directory)")
	cmd.AddCommand(newTokenAdd(), newTokenList(), newTokenRemove())
	return cmd
}

// tokensFile is the file that --tokens or --data names.
func tokensFile(cmd *cobra.Command) (datadir.Tokens, error) {
	path, err := cmd.Flags().GetString("tokens")
	if err != nil || path != "" {
		return datadir.TokensAt(path), err
	}
	dir, err := openDataDir(cmd)
	if err != nil {
		return datadir.Tokens{}, err
	}
	return datadir.TokensAt(dir.TokensPath()), nil
}

func newTokenAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME",
		Short: "Make a token and print it, this once",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !datadir.ValidTokenName(args[0]) {
				return usagef("token %q: %w", args[0], datadir.ErrTokenName)
			}
			tokens, err := tokensFile(cmd)
			if err != nil {
				return err
			}
			token, err := tokens.Add(cmd.Context(), args[0], time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Token for %s; it is not shown again:\n", args[0])
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
}

// tokenLine is what list shows of a token.
type tokenLine struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
}

func newTokenList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the names of the tokens",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tokens, err := tokensFile(cmd)
			if err != nil {
				return err
			}
			list, err := tokens.List()
			if err != nil {
				return err
			}
			lines := make([]tokenLine, 0, len(list))
			for _, t := range list {
				lines = append(lines, tokenLine{Name: t.Name, Created: t.Created})
			}
			return printTokens(cmd, lines, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func printTokens(cmd *cobra.Command, lines []tokenLine, asJSON bool) error {
	if asJSON {
		for _, t := range lines {
			data, err := json.Marshal(t)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", data); err != nil {
				return err
			}
		}
		return nil
	}
	if len(lines) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "There are no named tokens; 'causeway token add NAME' makes one.")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tCREATED")
	for _, t := range lines {
		fmt.Fprintf(w, "%s\t%s\n", t.Name, t.Created.Local().Format(time.DateTime))
	}
	return w.Flush()
}

func newTokenRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a token away",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			tokens, err := tokensFile(cmd)
			if err != nil {
				return err
			}
			if err := tokens.Remove(cmd.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Token %s is removed. Its open connections stay until they end.\n", args[0])
			return nil
		},
	}
}

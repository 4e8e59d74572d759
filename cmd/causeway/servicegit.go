package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/service/git"
	"github.com/spf13/cobra"
)

func newServiceGit() *cobra.Command {
	cmd := &cobra.Command{
		Use: "git --repo [NAME=]PATH...", Short: "Offer the objects and refs of Git repositories",
		Long: `Offers Git repositories of this machine for reading, until it is interrupted, as a
service with the metadata {"protocol":"git-object-reader","version":1}. Whoever may
call it may read every object of them.

  getRepositories {}                          names and object formats
  getRefs         {repo?, prefix?, after?}    HEAD and refs
  getObjects      {repo?, oids, maxBytes?}    types, sizes, data in base64; missing ones named
  getObjectRange  {repo?, oid, offset, length?}
  watchRefs       {repo?, serviceId}          notify that service of the caller's with refsChanged

An answer is bounded: "next" in it says where to go on. The service's id is printed
when it is registered, and again after a reconnect, when it is a new one.`,
		Example: `  causeway service git --repo . --repo other=../other
  causeway service call protocol=git-object-reader getRefs '{"repo":"other"}'`,
		Args: args(cobra.NoArgs), RunE: withServices(serveGit),
	}
	addURLFlag(cmd)
	cmd.Flags().StringArray("repo", nil, "`[NAME=]PATH` of a repository; repeatable (default: the one here)")
	cmd.Flags().Int64("max-bytes", git.DefaultMaxBytes, "about how large an answer may be, in `bytes`")
	return cmd
}

func serveGit(cmd *cobra.Command, c *client.Client, _ []string) error {
	repos, err := cmd.Flags().GetStringArray("repo")
	if err != nil {
		return err
	}
	if len(repos) == 0 {
		repos = []string{"."}
	}
	maxBytes, err := cmd.Flags().GetInt64("max-bytes")
	if err != nil {
		return err
	}
	s, err := git.NewServer(cmd.Context(), c, git.Options{
		Repos: repos, MaxBytes: maxBytes, Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)),
	})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := context.WithCancel(cmd.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	ended := make(chan struct{})
	var why error
	running.Go(func() {
		defer close(ended)
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			why = err
		}
	})
	return offer(cmd, c, s.Metadata(), s.Handler(), ended, func() error { return why })
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/causeway-ahp/causeway/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An MCP client ends its server by closing its input, and a few seconds later by
// force. Calls that were accepted must survive that, so the gateway works in a
// process of its own, the keeper, in a session of its own. The process that the
// client started only copies. When it ends, however that comes, the keeper sees the
// end of its input: the client has left.

// frontMCP starts the keeper and copies until it ends, or until this process is told
// to end.
func frontMCP(cmd *cobra.Command, command []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	keeper := &exec.Cmd{
		Path: self, Args: keeperArgs(cmd, command),
		// Not the files themselves: they close when this process ends.
		Stdout: struct{ io.Writer }{cmd.OutOrStdout()}, Stderr: struct{ io.Writer }{cmd.ErrOrStderr()},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	in, err := keeper.StdinPipe()
	if err != nil {
		return err
	}
	if err := keeper.Start(); err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	go func() { // ends with the process: a read of stdin cannot be interrupted
		_, _ = io.Copy(in, cmd.InOrStdin())
		_ = in.Close()
	}()
	ended := make(chan error, 1)
	go func() { ended <- keeper.Wait() }() // as well
	select {
	case err = <-ended:
	case <-cmd.Context().Done():
		return cmd.Context().Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitError(max(exit.ExitCode(), exitFailed)) // it has said why
	}
	return err
}

// keeperArgs is the command line of this process with --keeper.
func keeperArgs(cmd *cobra.Command, command []string) []string {
	list := []string{"causeway", "mcp", "--keeper"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if several, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range several.GetSlice() {
				list = append(list, "--"+f.Name+"="+v)
			}
			return
		}
		list = append(list, "--"+f.Name+"="+f.Value.String())
	})
	return append(append(list, "--"), command...)
}

// keepMCP is the keeper: the gateway between stdin and stdout and a server it starts.
func keepMCP(cmd *cobra.Command, o *mcpOptions, command []string) (err error) {
	// Whoever reads stdout or stderr may be gone; that ends no accepted call.
	signal.Ignore(syscall.SIGPIPE)
	log := o.logger(cmd.ErrOrStderr())
	n, err := o.notifier(cmd, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close(cmd.Context())) }()
	g := mcp.Gateway{
		Options: o.edge(n, command[0], log), Command: command, Linger: o.linger,
		ClientIn: interruptible(cmd.InOrStdin()), ClientOut: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr(),
	}
	err = g.Run(cmd.Context())
	n.attemptAll(cmd.Context(), gatewayAttempts)
	var exit *mcp.ExitError
	if errors.As(err, &exit) {
		return exitError(max(exit.Code, exitFailed)) // what it had to say is on stderr
	}
	return err
}

// interruptible is stdin as a file whose reader wakes when it is closed, as the ends
// of pipes are that the poller knows.
func interruptible(r io.Reader) io.Reader {
	f, ok := r.(*os.File)
	if !ok {
		return r
	}
	info, err := f.Stat()
	fd := f.Fd()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 || syscall.SetNonblock(int(fd), true) != nil {
		return r
	}
	return os.NewFile(fd, f.Name())
}

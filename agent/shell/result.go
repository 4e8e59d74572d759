package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// Exit codes a shell uses for what did not run to an exit of its own.
const (
	exitCannotStart = 126
	exitNotFound    = 127
	exitSignalled   = 128 // plus the signal
)

// briefRunes is how much of a command is shown in a line about it.
const briefRunes = 120

// Details is the structuredContent of a finished call.
type Details struct {
	ExitCode     int    `json:"exitCode"`              // 128 and the signal after a signal, 126 or 127 if it did not start
	Signal       string `json:"signal,omitzero"`       // such as "SIGKILL"
	OmittedBytes int64  `json:"omittedBytes,omitzero"` // output that was read and is not in the content
}

// resultOf is the result of a command that ran.
func resultOf(text string, e process.Ending, out *process.Capture, cancelled bool) ahp.ToolCallResult {
	details, problem := describe(e)
	switch {
	case cancelled:
		problem = "cancelled"
	case out.OverLimit():
		problem = fmt.Sprintf("ended after %d MiB of output", MaxOutputBytes>>20)
	}
	if e.Abandoned {
		problem = "could not be ended; some of its processes may still run"
	}
	var content []ahp.ToolResultContent
	content, details.OmittedBytes = contentOf(out)
	if e.Background && !e.Abandoned {
		content = append(content, ahp.TextContent("[processes left in the background were ended]\n"))
	}
	return result(text, problem, details, content)
}

// describe is how a command ended, and what was wrong with that, "" for
// nothing.
func describe(e process.Ending) (Details, string) {
	if e.State == nil {
		return Details{ExitCode: exitSignalled + int(syscall.SIGKILL)}, ""
	}
	if status, ok := e.State.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		sig := status.Signal()
		name := unix.SignalName(sig)
		return Details{ExitCode: exitSignalled + int(sig), Signal: name}, "killed by " + name
	}
	code := e.State.ExitCode()
	if code == 0 {
		return Details{}, ""
	}
	return Details{ExitCode: code}, fmt.Sprintf("exit status %d", code)
}

// contentOf is the kept output with a line about what is missing before it.
func contentOf(out *process.Capture) (content []ahp.ToolResultContent, omitted int64) {
	const noteBytes = 64
	text, omitted := out.Final(KeptBytes)
	if omitted > 0 {
		text, omitted = out.Final(KeptBytes - noteBytes)
		text = fmt.Sprintf("[%d bytes of output left out]\n", omitted) + text
	}
	if text == "" {
		return nil, 0
	}
	return []ahp.ToolResultContent{ahp.TextContent(text)}, omitted
}

// startFailure is the result of a command that could not be started. What the
// system said stays on this side: it holds paths of the host.
func startFailure(text string, cmd process.Command, err error) ahp.ToolCallResult {
	_, gone := os.Stat(cmd.Dir) // the error of the start would blame the program
	switch {
	case gone != nil:
		return notStarted(text, "the working directory is gone", exitCannotStart)
	case errors.Is(err, exec.ErrNotFound):
		return notStarted(text, "program not found", exitNotFound)
	case errors.Is(err, syscall.E2BIG):
		return notStarted(text, "the command is too long", exitCannotStart)
	case errors.Is(err, fs.ErrPermission):
		return notStarted(text, "permission denied", exitCannotStart)
	}
	return notStarted(text, "could not be started", exitCannotStart)
}

func notStarted(text, problem string, code int) ahp.ToolCallResult {
	return result(text, problem, Details{ExitCode: code}, nil)
}

// result joins the parts; a problem makes it a failure.
func result(text, problem string, d Details, content []ahp.ToolResultContent) ahp.ToolCallResult {
	structured, err := json.Marshal(d)
	if err != nil { // numbers and the name of a signal always encode
		panic(err)
	}
	r := ahp.ToolCallResult{
		Success:           problem == "",
		PastTenseMessage:  ahp.Plain("Ran " + brief(text)),
		Content:           content,
		StructuredContent: structured,
	}
	if problem != "" {
		r.PastTenseMessage = ahp.Plain("Failed (" + problem + "): " + brief(text))
		r.Error = &ahp.ToolError{Message: problem}
	}
	return r
}

// brief is the beginning of a command on one line, as valid text.
func brief(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > briefRunes {
		runes = append(runes[:briefRunes], '…')
	}
	return string(runes)
}

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/causeway-ahp/causeway/agent"
	"github.com/causeway-ahp/causeway/ahp"
)

// maxLines bounds the commands of one message.
const maxLines = 256

// turn is one message being answered.
type turn struct {
	s      *session
	id     string
	caller context.Context // of Prompt
	ctx    context.Context // the turn's: ends when it is cancelled or the session closes
	cancel context.CancelCauseFunc
	unlink func() bool // from the session's life
	calls  int
}

// answer runs a message: a slash word, or a command a line.
func (t *turn) answer(text string) agent.Outcome {
	text = strings.TrimSpace(text)
	if text == "" {
		return t.say("Type a command, or `/help`.\n")
	}
	if name, rest, ok := slashWord(text); ok {
		if word, known := words[name]; known {
			return word(t, rest)
		}
		return t.say("There is no " + codeSpan(name) + ". Type `/help` for what there is.\n")
	}
	lines := commandLines(text)
	if len(lines) > maxLines {
		return failed("tooManyCommands", fmt.Sprintf("a message may hold at most %d commands", maxLines))
	}
	return t.commands(lines)
}

// slashWord splits a message that begins with a word of this agent. The path of
// a file begins with a slash as well and is a command.
func slashWord(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return "", "", false
	}
	name = strings.Fields(text)[0]
	if _, known := words[name]; !known {
		if info, err := os.Stat(name); err == nil && !info.IsDir() && filepath.IsAbs(name) {
			return "", "", false
		}
	}
	return name, strings.TrimSpace(text[len(name):]), true
}

// commandLines are the lines of a message that hold something.
func commandLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// commands runs one after the other until one fails or is denied.
func (t *turn) commands(lines []string) agent.Outcome {
	for _, line := range lines {
		ok, err := t.run(line)
		if err != nil {
			return t.interrupted(err)
		}
		if !ok {
			break
		}
	}
	return agent.Outcome{}
}

// emit hands an event to the host. It goes on after a cancel, so that what was
// begun is reported to its end.
func (t *turn) emit(e agent.Event) error {
	if err := t.s.host.Emit(t.caller, e); err != nil {
		return fmt.Errorf("emit: %w", err)
	}
	return nil
}

// over returns why the turn is over, nil while it is not.
func (t *turn) over() error { return context.Cause(t.ctx) }

// say answers with markdown and ends the turn.
func (t *turn) say(markdown string) agent.Outcome {
	if err := t.emit(agent.Text{TurnID: t.id, Text: markdown}); err != nil {
		return t.interrupted(err)
	}
	return agent.Outcome{}
}

// interrupted is the outcome of a turn that could not go on.
func (t *turn) interrupted(err error) agent.Outcome {
	if t.over() != nil || errors.Is(err, agent.ErrClosed) || errors.Is(err, errCancelled) {
		return agent.Outcome{Result: agent.Cancelled}
	}
	return failed("agentFailed", "the turn could not go on: "+err.Error())
}

func failed(errorType, message string) agent.Outcome {
	return agent.Outcome{Result: agent.Failed, Err: &ahp.ErrorInfo{ErrorType: errorType, Message: message}}
}

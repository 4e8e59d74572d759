package shell

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/causeway-ahp/causeway/agent"
)

// words are the messages that are no commands. They show what a chat can hold
// besides tool calls.
var words = map[string]func(t *turn, rest string) agent.Outcome{
	"/help": (*turn).help,
	"/ask":  (*turn).ask,
	"/plan": (*turn).plan,
	"/fail": (*turn).fail,
	"/slow": (*turn).slow,
}

const helpText = "Each line of a message is a command for the working directory. " +
	"`ls`, `pwd`, `cat`, `head` and `git status`, `diff`, `log`, `show` run at once when they only read " +
	"inside the session's directories; everything else asks first. The first command that fails ends the turn.\n\n" +
	"- `/help` – this text\n" +
	"- `/ask` – asks one question of each kind and repeats the answers\n" +
	"- `/plan` – works through a checklist of commands\n" +
	"- `/fail` – ends the turn with an error\n" +
	"- `/slow N` – answers with N lines, ten a second\n"

func (t *turn) help(string) agent.Outcome { return t.say(helpText) }

func (t *turn) fail(string) agent.Outcome {
	return failed("requestedFailure", "the turn failed because you asked for it")
}

// planSteps are all read-only, so that a plan runs through without a question.
var planSteps = []struct{ what, command string }{
	{"find out where we are", "pwd"},
	{"see what is here", "ls"},
	{"look closer", "ls -la"},
}

// plan runs commands under an activity that follows them.
func (t *turn) plan(string) agent.Outcome {
	err := t.steps()
	if cleared := t.emit(agent.Activity{}); err == nil {
		err = cleared
	}
	if err != nil {
		return t.interrupted(err)
	}
	return agent.Outcome{}
}

// steps ticks off one step after the other, up to the first that fails.
func (t *turn) steps() error {
	for i, step := range planSteps {
		activity := fmt.Sprintf("Step %d of %d: %s", i+1, len(planSteps), step.what)
		if err := t.emit(agent.Activity{Text: activity}); err != nil {
			return err
		}
		ok, err := t.run(step.command)
		if err != nil {
			return err
		}
		if err := t.emit(agent.Text{TurnID: t.id, Text: checkbox(ok) + step.what + "\n"}); err != nil || !ok {
			return err
		}
	}
	return nil
}

func checkbox(done bool) string {
	if done {
		return "- [x] "
	}
	return "- [ ] "
}

// Bounds of /slow.
const (
	slowDefault  = 10
	slowMax      = 600 // a minute
	slowInterval = 100 * time.Millisecond
)

// slow streams numbered lines.
func (t *turn) slow(rest string) agent.Outcome {
	n, err := slowLines(rest)
	if err != nil {
		return t.say(err.Error() + "\n")
	}
	tick := time.NewTicker(slowInterval)
	defer tick.Stop()
	for i := 1; i <= n; i++ {
		if err := t.emit(agent.Text{TurnID: t.id, Text: fmt.Sprintf("%d\n", i)}); err != nil {
			return t.interrupted(err)
		}
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return t.interrupted(t.over())
		}
	}
	return agent.Outcome{}
}

func slowLines(rest string) (int, error) {
	if rest == "" {
		return slowDefault, nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || n > slowMax {
		return 0, fmt.Errorf("`/slow` takes a number from 1 to %d", slowMax)
	}
	return n, nil
}

// codeSpan quotes text in markdown, whatever it holds.
func codeSpan(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + brief(text) + " " + fence
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/go-json-experiment/json/jsontext"
)

// asker puts an agent's questions to the user, one at a time. Another client may
// answer first; the question then goes away.
type asker struct {
	yes   bool     // approve everything
	in    *os.File // a terminal, nil without one
	errs  io.Writer
	style style

	open  sync.WaitGroup // questions being put
	turn  sync.Mutex     // one at a time
	once  sync.Once
	lines chan string
}

// confirm decides about a tool call that waits.
func (a *asker) confirm(ctx context.Context, chat *client.Chat, call *ahp.ToolCall) {
	switch {
	case a.yes:
		a.decide(chat, call, true)
	case a.in == nil:
		fmt.Fprintf(a.errs, "needs consent, and there is no terminal to ask: %s\n(use --yes to approve, or answer from another client while it waits)\n", callText(call))
		a.decide(chat, call, false)
	default:
		a.open.Go(func() { a.askConsent(ctx, chat, call) })
	}
}

func (a *asker) decide(chat *client.Chat, call *ahp.ToolCall, approve bool) {
	if _, err := chat.Confirm(call.ToolCallID, approve, client.ConfirmOptions{}); err != nil {
		fmt.Fprintf(a.errs, "%v\n", err)
	}
}

func (a *asker) askConsent(ctx context.Context, chat *client.Chat, call *ahp.ToolCall) {
	a.turn.Lock()
	defer a.turn.Unlock()
	for {
		fmt.Fprintf(a.errs, "%s %s\n%s ", a.style.bold("Run this?"), consentText(call), a.style.dim("[y]es, [n]o:"))
		line, ok := a.line(ctx, chat, func(s *ahp.ChatState) bool { return waits(s, call.ToolCallID) })
		if !ok {
			fmt.Fprintln(a.errs, a.style.dim("(answered elsewhere)"))
			return
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			a.decide(chat, call, true)
			return
		case "n", "no":
			a.decide(chat, call, false)
			return
		}
	}
}

// waits reports whether a tool call still waits for consent.
func waits(s *ahp.ChatState, toolCallID string) bool {
	if s.ActiveTurn == nil {
		return false
	}
	t := s.ToolCallByID(s.ActiveTurn.ID, toolCallID)
	return t != nil && t.WaitsForUser()
}

// line reads a line from the terminal. It is false when the question has been
// answered elsewhere, or the program is to end.
func (a *asker) line(ctx context.Context, chat *client.Chat, open func(*ahp.ChatState) bool) (string, bool) {
	a.once.Do(func() {
		a.lines = make(chan string)
		go readLines(a.in, a.lines)
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = chat.Wait(ctx, func(state any) bool { return !open(state.(*ahp.ChatState)) })
	}()
	select {
	case line, ok := <-a.lines:
		cancel()
		<-gone
		return strings.TrimSpace(line), ok
	case <-gone:
		return "", false
	}
}

// readLines gives the lines of a terminal to whoever asks, until it ends. A
// terminal cannot be told to stop: the goroutine ends with the program.
func readLines(in *os.File, lines chan<- string) {
	defer close(lines)
	s := bufio.NewScanner(in)
	for s.Scan() {
		lines <- s.Text()
	}
}

// answer answers an input request: without a terminal it is declined.
func (a *asker) answer(ctx context.Context, chat *client.Chat, q *ahp.ChatInputRequest) {
	if a.in == nil {
		fmt.Fprintln(a.errs, "the agent asks something, and there is no terminal to answer: declined")
		chat.Answer(q.ID, ahp.InputDecline, nil)
		return
	}
	a.open.Go(func() { a.askAll(ctx, chat, q) })
}

func (a *asker) askAll(ctx context.Context, chat *client.Chat, q *ahp.ChatInputRequest) {
	a.turn.Lock()
	defer a.turn.Unlock()
	if q.Message != nil {
		fmt.Fprintln(a.errs, a.style.bold(*q.Message))
	}
	answers := make(map[string]ahp.ChatInputAnswer)
	for _, question := range q.Questions {
		fmt.Fprintf(a.errs, "%s%s ", question.Message, a.style.dim(hint(question)))
		line, ok := a.line(ctx, chat, func(s *ahp.ChatState) bool { return asks(s, q.ID) })
		if !ok {
			fmt.Fprintln(a.errs, a.style.dim("(answered elsewhere)"))
			return
		}
		answers[question.ID] = parseAnswer(question, line)
	}
	d := chat.Answer(q.ID, ahp.InputAccept, answers)
	if err := d.Wait(ctx); err != nil {
		fmt.Fprintf(a.errs, "not accepted (%v); declined\n", err)
		chat.Answer(q.ID, ahp.InputDecline, nil)
	}
}

// asks reports whether an input request is still open.
func asks(s *ahp.ChatState, id string) bool {
	for _, q := range openRequests(s) {
		if q.ID == id {
			return true
		}
	}
	return false
}

// hint tells what can be answered.
func hint(q ahp.ChatInputQuestion) string {
	switch q.Kind {
	case ahp.QuestionBoolean:
		return " [y/n]:"
	case ahp.QuestionSingleSelect, ahp.QuestionMultiSelect:
		var b strings.Builder
		for i, o := range q.Options {
			fmt.Fprintf(&b, "\n  %d %s", i+1, o.Label)
		}
		b.WriteString("\n  number")
		if q.Kind == ahp.QuestionMultiSelect {
			b.WriteString("s, separated by commas")
		}
		return b.String() + ":"
	}
	return ":"
}

// parseAnswer makes an answer of a line; an empty line skips the question.
func parseAnswer(q ahp.ChatInputQuestion, line string) ahp.ChatInputAnswer {
	value := func(kind string, v any) ahp.ChatInputAnswer {
		raw, err := ahp.Marshal(v)
		if err != nil {
			return ahp.ChatInputAnswer{State: ahp.AnswerSkipped}
		}
		whole, err := ahp.Marshal(ahp.AnswerValue{Kind: kind, Value: raw})
		if err != nil {
			return ahp.ChatInputAnswer{State: ahp.AnswerSkipped}
		}
		return ahp.ChatInputAnswer{State: ahp.AnswerSubmitted, Value: whole}
	}
	if line == "" {
		return ahp.ChatInputAnswer{State: ahp.AnswerSkipped}
	}
	switch q.Kind {
	case ahp.QuestionBoolean:
		return value("boolean", strings.HasPrefix(strings.ToLower(line), "y"))
	case ahp.QuestionNumber, ahp.QuestionInteger:
		if _, err := strconv.ParseFloat(line, 64); err != nil {
			return ahp.ChatInputAnswer{State: ahp.AnswerSkipped}
		}
		return value("number", jsontext.Value(line))
	case ahp.QuestionSingleSelect:
		return value("selected", optionID(q, line))
	case ahp.QuestionMultiSelect:
		var ids []string
		for _, part := range strings.Split(line, ",") {
			ids = append(ids, optionID(q, strings.TrimSpace(part)))
		}
		return value("selected-many", ids)
	}
	return value("text", line)
}

// optionID is the option a number names, else the text itself.
func optionID(q ahp.ChatInputQuestion, text string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].ID
	}
	return text
}

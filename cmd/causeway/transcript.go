package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/causeway-ahp/causeway/agent/shell"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
)

// transcript prints what a watch sees: whole lines, each with the title of its
// session, or the protocol's own objects. It may be used concurrently.
type transcript struct {
	mu     sync.Mutex
	w      io.Writer
	json   bool
	style  style
	titles map[ahp.URI]string
	listed map[ahp.URI]bool
	told   map[string]*toldPart // by turn and place in it
}

// toldPart is what was told of a part.
type toldPart struct {
	status string // of a tool call
	output *stream
	lines  *lines
}

func newTranscript(w io.Writer, json bool) *transcript {
	return &transcript{
		w: w, json: json, style: styleOf(w), titles: make(map[ahp.URI]string), listed: make(map[ahp.URI]bool),
		told: make(map[string]*toldPart),
	}
}

// say prints a line about a session.
func (r *transcript) say(session ahp.URI, format string, args ...any) {
	title := r.titles[session]
	if title == "" {
		title = strings.TrimPrefix(session, ahp.SessionPrefix)
	}
	fmt.Fprintf(r.w, "%s %s\n", r.style.cyan("["+oneLine(title, 24)+"]"), fmt.Sprintf(format, args...))
}

// list tells which sessions came and went.
func (r *transcript) list(items []ahp.SessionSummary, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := make(map[ahp.URI]bool, len(items))
	for i := range items {
		s := &items[i]
		now[s.Resource] = true
		r.titles[s.Resource] = s.Title
		if r.listed[s.Resource] {
			continue
		}
		r.listed[s.Resource] = true
		if r.json {
			_ = printJSON(r.w, s)
			continue
		}
		r.say(s.Resource, "session of agent %s, %s %s", oneLine(s.Provider, 20), statusWord(s.Status), r.style.dim(s.Resource))
	}
	if !fresh {
		return
	}
	for uri := range r.listed {
		if !now[uri] {
			delete(r.listed, uri)
			if !r.json {
				r.say(uri, "session ended")
			}
		}
	}
}

// session tells what happened in a session.
func (r *transcript) session(uri ahp.URI, s *ahp.SessionState, u client.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.titles[uri]
	r.titles[uri] = s.Title
	if r.json {
		r.envelope(u)
		return
	}
	switch a := u.Action.(type) {
	case *ahp.SessionTitleChanged:
		if before != a.Title {
			r.say(uri, "is now called %s", r.style.bold(oneLine(a.Title, 80)))
		}
	case *ahp.SessionCreationFailed:
		r.say(uri, "%s %s", r.style.red("could not be created:"), oneLine(a.Error.Message, 200))
	case *ahp.SessionReady:
		r.say(uri, "ready")
	}
}

func (r *transcript) envelope(u client.Update) {
	if len(u.Envelope) > 0 {
		fmt.Fprintf(r.w, "%s\n", u.Envelope)
	}
}

// chat tells what happened in a chat: the turn that runs when the watch begins,
// and everything after.
func (r *transcript) chat(session, uri ahp.URI, u client.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.json {
		r.envelope(u)
		return
	}
	s := u.State.(*ahp.ChatState)
	if u.Kind == client.Snapshot && s.ActiveTurn != nil {
		r.turnStarted(session, s.ActiveTurn.Message)
	}
	switch a := u.Action.(type) {
	case *ahp.ChatTurnStarted:
		r.turnStarted(session, a.Message)
	case *ahp.ChatPendingMessageSet:
		r.say(session, "%s %s", r.style.dim(a.Kind+":"), oneLine(a.Message.Text, 200))
	case *ahp.ChatActivityChanged:
		if a.Activity != nil {
			r.say(session, "%s", r.style.dim(oneLine(*a.Activity, 200)))
		}
	case *ahp.ChatInputRequested:
		r.say(session, "%s", r.style.yellow("asks: "+requestText(a.Request)))
	}
	if s.ActiveTurn != nil {
		r.parts(session, s.ActiveTurn.ID, s.ActiveTurn.ResponseParts)
		return
	}
	if id := endedTurn(u.Action); id != "" {
		if i, ok := s.Turns.Find(id); ok {
			r.turnEnded(session, s.Turns.At(i))
		}
	}
}

// endedTurn is the turn an action ends, "" for none.
func endedTurn(a ahp.Action) string {
	switch a := a.(type) {
	case *ahp.ChatTurnComplete:
		return a.TurnID
	case *ahp.ChatTurnCancelled:
		return a.TurnID
	case *ahp.ChatError:
		return a.TurnID
	}
	return ""
}

// turnEnded tells the rest of a turn and how it ended.
func (r *transcript) turnEnded(session ahp.URI, t *ahp.Turn) {
	r.parts(session, t.ID, t.ResponseParts)
	for key, p := range r.told {
		if strings.HasPrefix(key, t.ID+" ") {
			p.lines.flush()
			delete(r.told, key)
		}
	}
	switch t.State {
	case ahp.TurnCancelled:
		r.say(session, "%s", r.style.yellow("turn cancelled"))
	case ahp.TurnError:
		r.say(session, "%s %s", r.style.red("turn failed:"), oneLine(errorText(t), 200))
	default:
		r.say(session, "%s", r.style.dim("turn complete"))
	}
}

func (r *transcript) turnStarted(session ahp.URI, m *ahp.Message) {
	r.say(session, "%s %s", r.style.bold(">"), r.style.bold(oneLine(m.Text, 200)))
}

func requestText(q *ahp.ChatInputRequest) string {
	if q.Message != nil {
		return oneLine(*q.Message, 200)
	}
	return fmt.Sprintf("%d questions", len(q.Questions))
}

// parts tells what is new in the parts of a turn.
func (r *transcript) parts(session ahp.URI, turnID string, parts ahp.List[ahp.ResponsePart]) {
	for i, p := range parts.All() {
		told := r.toldOf(session, fmt.Sprintf("%s %d", turnID, i))
		switch p := p.Part.(type) {
		case *ahp.MarkdownPart:
			told.lines.text(p.Content.String())
			if i < parts.Len()-1 { // what follows is another part: this line has ended
				told.lines.flush()
			}
		case *ahp.SystemNotificationPart:
			told.lines.text(p.Content.Text + "\n")
		case *ahp.ToolCallPart:
			r.call(session, told, p.ToolCall)
		}
	}
}

func (r *transcript) toldOf(session ahp.URI, key string) *toldPart {
	t := r.told[key]
	if t == nil {
		l := &lines{print: func(line string) { r.say(session, "  %s", printable(line)) }}
		t = &toldPart{lines: l, output: &stream{w: l, errs: io.Discard, terminal: true}}
		r.told[key] = t
	}
	return t
}

// call tells how a tool call goes on.
func (r *transcript) call(session ahp.URI, told *toldPart, t *ahp.ToolCall) {
	changed := told.status != t.Status
	told.status = t.Status
	switch {
	case changed && t.Status == ahp.ToolPendingConfirmation:
		r.say(session, "%s %s", r.style.yellow("waits for consent:"), consentText(t))
	case changed && t.Status == ahp.ToolRunning:
		sign := "·"
		if t.ToolName == shell.ProviderID {
			sign = "$"
		}
		r.say(session, "%s %s", r.style.dim(sign), callText(t))
	}
	told.output.call(t)
	if changed && t.Ended() {
		told.lines.flush()
		r.callEnded(session, t)
	}
}

func (r *transcript) callEnded(session ahp.URI, t *ahp.ToolCall) {
	switch {
	case t.Status == ahp.ToolCancelled:
		r.say(session, "%s %s", r.style.yellow("not run:"), callText(t))
	case t.Success != nil && *t.Success:
		r.say(session, "%s %s", r.style.green("ok:"), callText(t))
	case t.Error != nil:
		r.say(session, "%s %s", r.style.red(oneLine(t.Error.Message, 80)+":"), callText(t))
	default:
		r.say(session, "%s %s", r.style.red("failed:"), callText(t))
	}
}

package script

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Sides of a conversation.
const (
	FromClient = "client"
	FromAgent  = "agent"
)

// Version is the version of the format that is written.
const Version = 1

// MaxLineBytes bounds a line of a transcript and a message of a conversation.
const MaxLineBytes = 64 << 20

// Line is one line of a transcript after its first: what one side said, and when,
// or something for the agent to do. What is written by hand may use the short
// forms Update, End and Fail.
type Line struct {
	// Milliseconds since the beginning. A line without waits for nothing.
	At   int64          `json:"t,omitzero"`
	From string         `json:"from,omitzero"` // FromClient or FromAgent; default FromAgent
	Msg  jsontext.Value `json:"msg,omitzero"`  // a JSON-RPC message

	// Prompt begins the turn of a message with this first word: short for a
	// client's session/prompt.
	Prompt string         `json:"prompt,omitzero"`
	Update jsontext.Value `json:"update,omitzero"` // short for a session/update
	End    string         `json:"end,omitzero"`    // short for the answer to the prompt: its stop reason
	Usage  jsontext.Value `json:"usage,omitzero"`  // with End
	Fail   *Failure       `json:"fail,omitzero"`   // short for an error as the answer to the prompt

	// If limits the line to an answer of the client to the question before: the id
	// of the option it chose, the beginning of that option's kind ("allow",
	// "reject"), an action ("accept") or "cancelled".
	If string `json:"if,omitzero"`
	// Save keeps members of the result of this request of the agent's by name;
	// "${name}" in later lines stands for them.
	Save map[string]string `json:"save,omitzero"`

	Do     string `json:"do,omitzero"`     // one of the Do constants
	Code   int    `json:"code,omitzero"`   // with DoExit
	Text   string `json:"text,omitzero"`   // with DoRaw; with DoExit what goes to the error output
	Times  int    `json:"times,omitzero"`  // with DoRepeat; "${n}" in Update counts
	Bytes  int    `json:"bytes,omitzero"`  // with DoPad; "${pad}" in Update is as long
	Millis int64  `json:"millis,omitzero"` // with DoSleep, and between two of DoRepeat
}

// What a line may let the agent do.
const (
	DoExit   = "exit"   // ends the agent
	DoRaw    = "raw"    // writes a line as it is
	DoStall  = "stall"  // says nothing any more, and ignores a cancel
	DoDeaf   = "deaf"   // goes on, and ignores a cancel
	DoSleep  = "sleep"  // waits
	DoRepeat = "repeat" // says an update several times
	DoPad    = "pad"    // says an update that is long
)

// Failure is an error as a JSON-RPC response carries it.
type Failure struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

// Header is the first line of a transcript.
type Header struct {
	Version int    `json:"acpTranscript"` // Version
	Agent   string `json:"agent,omitzero"`
	About   string `json:"about,omitzero"`
}

// Transcript is a recorded or written conversation.
type Transcript struct {
	Header Header
	Setup  []Line // before the first prompt
	Turns  []Turn
}

// Turn is a prompt with what follows it.
type Turn struct {
	Word  string // the first of the prompt
	Lines []Line // after the prompt
	id    string // of the prompt in the recording, JSON; "" if it was written by hand
}

// Read reads a transcript.
func Read(r io.Reader) (*Transcript, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), MaxLineBytes)
	t := &Transcript{}
	for n := 1; in.Scan(); n++ {
		text := strings.TrimSpace(in.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := t.read(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	if t.Header.Version == 0 {
		return nil, errors.New("the transcript is empty")
	}
	return t, nil
}

// read takes a line that holds something.
func (t *Transcript) read(text string) error {
	if t.Header.Version == 0 {
		if err := json.Unmarshal([]byte(text), &t.Header); err != nil || t.Header.Version == 0 {
			return errors.New(`this is no transcript: its first line must be {"acpTranscript":1}`)
		}
		if t.Header.Version > Version {
			return fmt.Errorf("the transcript is of version %d; this program reads up to %d", t.Header.Version, Version)
		}
		return nil
	}
	var l Line
	if err := json.Unmarshal([]byte(text), &l, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("not a line of a transcript: %w", err)
	}
	if err := l.check(); err != nil {
		return err
	}
	t.add(l)
	return nil
}

var doings = map[string]bool{
	"": true, DoExit: true, DoRaw: true, DoStall: true, DoDeaf: true, DoSleep: true, DoRepeat: true, DoPad: true,
}

func (l *Line) check() error {
	switch {
	case l.From != "" && l.From != FromClient && l.From != FromAgent:
		return fmt.Errorf("from must be %q or %q", FromClient, FromAgent)
	case !doings[l.Do]:
		return fmt.Errorf("nobody can do %q", l.Do)
	case l.Msg == nil && l.Update == nil && l.End == "" && l.Fail == nil && l.Prompt == "" && l.Do == "":
		return errors.New("the line says nothing")
	case l.Msg == nil:
		return nil
	}
	if _, err := jsonrpc.Scan(l.Msg); err != nil {
		return fmt.Errorf("msg is no message: %w", err)
	}
	return nil
}

// add puts a line where it belongs.
func (t *Transcript) add(l Line) {
	if word, id, ok := l.prompt(); ok {
		t.Turns = append(t.Turns, Turn{Word: word, id: id})
		return
	}
	if n := len(t.Turns); n > 0 {
		t.Turns[n-1].Lines = append(t.Turns[n-1].Lines, l)
		return
	}
	t.Setup = append(t.Setup, l)
}

// prompt is the first word of the prompt a line is, and the prompt's id.
func (l *Line) prompt() (word, id string, ok bool) {
	if l.Prompt != "" {
		return firstWord(l.Prompt), "", true
	}
	if l.From != FromClient || l.Msg == nil {
		return "", "", false
	}
	m, err := jsonrpc.Scan(l.Msg)
	if err != nil || m.Method != "session/prompt" {
		return "", "", false
	}
	return firstWord(promptText(m.Params)), m.ID.String(), true
}

// promptText is the text of a prompt.
func promptText(params jsontext.Value) string {
	var p struct {
		Prompt []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	if json.Unmarshal(params, &p, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	var text strings.Builder
	for _, b := range p.Prompt {
		text.WriteString(b.Text)
	}
	return text.String()
}

func firstWord(text string) string {
	if words := strings.Fields(text); len(words) > 0 {
		return strings.ToLower(strings.Trim(words[0], "/.,!?"))
	}
	return ""
}

// find is the turn for a message: that of its first word, else the next one that
// was not played, nil when there is none.
func (t *Transcript) find(text string, played int) *Turn {
	word := firstWord(text)
	for i := range t.Turns {
		if t.Turns[i].Word == word {
			return &t.Turns[i]
		}
	}
	if len(t.Turns) > 0 && t.Turns[0].id != "" && played < len(t.Turns) { // a recording
		return &t.Turns[played]
	}
	return nil
}

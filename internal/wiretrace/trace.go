package wiretrace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"github.com/causeway-ahp/causeway/transport"
)

// trace is one file.
type trace struct {
	path  string
	prose []byte
	steps []*step
}

// step is something that is done, and what followed from it.
type step struct {
	line     int
	header   string // the section's name as it is written
	body     string
	verb     string
	args     []string
	outcomes []*outcome
}

// outcome is what one client saw of a step: messages, or the end of its
// connection if closed is set.
type outcome struct {
	line     int
	header   string
	client   string
	closed   bool
	code     transport.Code // 0 if any
	reason   string         // "" if any
	messages []line
	tail     string // remarks behind the last message
}

// line is an expected message with the remarks above it.
type line struct {
	remarks string // whole lines
	text    string
	value   value
}

// readTrace reads and checks the file at path.
func readTrace(path string) (*trace, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return parseTrace(path, text)
}

func parseTrace(path string, text []byte) (*trace, error) {
	archive := txtar.Parse(text)
	tr := &trace{path: path, prose: archive.Comment}
	if strings.TrimSpace(string(tr.prose)) == "" {
		return nil, fmt.Errorf("%s:1: no prose that says which rule this is about", path)
	}
	at := 1 + strings.Count(string(tr.prose), "\n")
	for _, section := range archive.Files {
		if err := tr.add(at, section.Name, string(section.Data)); err != nil {
			return nil, fmt.Errorf("%s:%d: %q: %w", path, at, section.Name, err)
		}
		at += 1 + strings.Count(string(section.Data), "\n")
	}
	if len(tr.steps) == 0 {
		return nil, fmt.Errorf("%s: no steps", path)
	}
	return tr, nil
}

// add takes one section into the trace.
func (tr *trace) add(at int, header, body string) error {
	words := strings.Fields(header)
	verb, args := words[0], words[1:]
	if verb == "expect" || verb == "closed" {
		return tr.addOutcome(&outcome{line: at, header: header, closed: verb == "closed"}, args, body)
	}
	s := &step{line: at, header: header, body: body, verb: verb, args: args}
	tr.steps = append(tr.steps, s)
	return s.check()
}

func (tr *trace) addOutcome(o *outcome, args []string, body string) error {
	if len(tr.steps) == 0 {
		return errors.New("nothing has been done yet")
	}
	if len(args) == 0 {
		return errors.New("no client named")
	}
	o.client = args[0]
	s := tr.steps[len(tr.steps)-1]
	if s.outcome(o.client, o.closed) != nil {
		return errors.New("second section of its kind for one step")
	}
	s.outcomes = append(s.outcomes, o)
	if o.closed {
		return o.parseClosed(args, body)
	}
	if len(args) > 1 {
		return errors.New("takes one client")
	}
	return o.parseMessages(body)
}

// outcome returns the section of a kind about client, or nil.
func (s *step) outcome(client string, closed bool) *outcome {
	for _, o := range s.outcomes {
		if o.client == client && o.closed == closed {
			return o
		}
	}
	return nil
}

// check finds mistakes before anything is played.
func (s *step) check() error {
	switch s.verb {
	case "dial", "cut":
		return errors.Join(s.wantArgs(1, 1), s.wantNoBody())
	case "send":
		if len(messageLines(s.body)) == 0 {
			return errors.New("nothing to send")
		}
		return s.wantArgs(1, 1)
	case "close":
		_, _, err := parseClose(s.args[min(1, len(s.args)):])
		return errors.Join(s.wantArgs(1, 99), s.wantNoBody(), err)
	case "wait":
		return errors.Join(s.wantArgs(1, 1), s.wantNoBody(), checkWait(s.args))
	case "do":
		return s.wantArgs(1, 99)
	default:
		return fmt.Errorf("unknown step %q", s.verb)
	}
}

func (s *step) wantArgs(least, most int) error {
	if n := len(s.args); n < least || n > most {
		return fmt.Errorf("%d arguments are wrong for %q", n, s.verb)
	}
	return nil
}

func (s *step) wantNoBody() error {
	if len(messageLines(s.body)) > 0 {
		return fmt.Errorf("%q takes no body", s.verb)
	}
	return nil
}

func checkWait(args []string) error {
	for _, arg := range args {
		if d, err := time.ParseDuration(arg); err != nil || d <= 0 {
			return fmt.Errorf("%q is no time to wait", arg)
		}
	}
	return nil
}

// parseClose reads the optional code and reason behind a client's name.
func parseClose(args []string) (transport.Code, string, error) {
	if len(args) == 0 {
		return 0, "", nil
	}
	n, err := strconv.ParseUint(args[0], 10, 16)
	if err != nil || n < 1000 || n > 4999 {
		return 0, "", fmt.Errorf("%q is no close code", args[0])
	}
	return transport.Code(n), strings.Join(args[1:], " "), nil
}

func (o *outcome) parseClosed(args []string, body string) (err error) {
	if len(messageLines(body)) > 0 {
		return errors.New("takes no body")
	}
	o.tail = body
	if o.code, o.reason, err = parseClose(args[1:]); err != nil {
		return err
	}
	_, err = parseText(o.reason)
	return err
}

func (o *outcome) parseMessages(body string) error {
	for text := range strings.Lines(body) {
		if isRemark(text) {
			o.tail += text
			continue
		}
		m := line{remarks: o.tail, text: strings.TrimSpace(text)}
		o.tail = ""
		var err error
		if m.value, err = parseValue([]byte(m.text)); err != nil {
			return err
		}
		if err := m.value.checkPlaceholders(); err != nil {
			return err
		}
		o.messages = append(o.messages, m)
	}
	return nil
}

// checkPlaceholders finds malformed ones before the trace runs.
func (v value) checkPlaceholders() error {
	if v.kind == jsontext.KindString {
		_, err := parseText(v.text)
		return err
	}
	for _, item := range v.items {
		if err := item.checkPlaceholders(); err != nil {
			return err
		}
	}
	for _, m := range v.members {
		if _, err := parseText(m.name); err != nil {
			return err
		}
		if err := m.value.checkPlaceholders(); err != nil {
			return err
		}
	}
	return nil
}

func isRemark(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '#'
}

// messageLines returns the lines of a body that are not remarks, otherwise as
// they are.
func messageLines(body string) []string {
	var lines []string
	for text := range strings.Lines(body) {
		if !isRemark(text) {
			lines = append(lines, strings.TrimRight(text, "\r\n"))
		}
	}
	return lines
}

// format returns the file as text.
func (tr *trace) format() []byte {
	archive := &txtar.Archive{Comment: tr.prose}
	for _, s := range tr.steps {
		archive.Files = append(archive.Files, txtar.File{Name: s.header, Data: []byte(s.body)})
		for _, o := range s.outcomes {
			archive.Files = append(archive.Files, txtar.File{Name: o.header, Data: []byte(o.body())})
		}
	}
	return txtar.Format(archive)
}

func (o *outcome) body() string {
	var b strings.Builder
	for _, m := range o.messages {
		b.WriteString(m.remarks + m.text + "\n")
	}
	b.WriteString(o.tail)
	return b.String()
}

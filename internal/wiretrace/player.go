package wiretrace

import (
	"errors"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"github.com/causeway-ahp/causeway/transport"
)

// player plays one trace against one world. One goroutine uses it, the first of
// the bubble.
type player struct {
	world   World
	update  bool
	clients []*client // in the order in which they dialled
	bound   bindings
}

func newPlayer(world World, update bool) *player {
	return &player{world: world, update: update, bound: make(bindings)}
}

// play performs all steps and stops at the first whose outcome is not as
// written. When updating, it rewrites the outcomes of tr instead.
func (p *player) play(tr *trace) error {
	for i, s := range tr.steps {
		if err := p.step(s); err != nil {
			return fmt.Errorf("%s:%d: step %d, %q: %w", tr.path, s.line, i+1, s.header, err)
		}
	}
	return nil
}

func (p *player) step(s *step) error {
	if err := p.perform(s); err != nil {
		return err
	}
	synctest.Wait()
	if err := p.checkNames(s); err != nil {
		return err
	}
	if p.update {
		return p.rewrite(s)
	}
	return p.compare(s)
}

func (p *player) perform(s *step) error {
	name := s.args[0]
	switch s.verb {
	case "dial":
		return p.dial(name)
	case "send":
		return p.send(name, s.body)
	case "close":
		return p.closeClient(name, s.args[1:])
	case "cut":
		return p.cut(name)
	case "wait":
		d, err := time.ParseDuration(s.args[0])
		time.Sleep(d)
		return err
	default: // "do": the reader of the file let nothing else through
		return p.do(s)
	}
}

// find returns the client that is connected under name.
func (p *player) find(name string) (*client, error) {
	for _, c := range p.clients {
		if c.name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("client %q is not connected", name)
}

func (p *player) dial(name string) error {
	if _, err := p.find(name); err == nil {
		return fmt.Errorf("client %q is connected already", name)
	}
	conn, err := p.world.Dial(name)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	p.clients = append(p.clients, newClient(name, conn))
	return nil
}

func (p *player) send(name, body string) error {
	c, err := p.find(name)
	if err != nil {
		return err
	}
	var batch [][]byte
	for _, text := range messageLines(body) {
		text, err := p.bound.expandJSON(text)
		if err != nil {
			return err
		}
		batch = append(batch, []byte(text))
	}
	if err := c.conn.Write(batch); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// closeClient closes in order. What the host answers may still be read, so the
// client is forgotten only after the comparison.
func (p *player) closeClient(name string, args []string) error {
	c, err := p.find(name)
	if err != nil {
		return err
	}
	code, reason, err := parseClose(args)
	if err != nil {
		return err
	}
	if code == 0 {
		code = transport.CodeNormal
	}
	if err := c.close(code, reason); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func (p *player) cut(name string) error {
	if _, err := p.find(name); err != nil {
		return err
	}
	cutter, ok := p.world.(Cutter)
	if !ok {
		return errors.New("this world cannot cut connections")
	}
	return cutter.Cut(name)
}

func (p *player) do(s *step) error {
	var words []string
	for _, arg := range s.args {
		word, err := p.bound.expand(arg)
		if err != nil {
			return err
		}
		words = append(words, word)
	}
	body, err := p.bound.expandJSON(strings.Join(messageLines(s.body), "\n"))
	if err != nil {
		return err
	}
	return p.world.Do(words[0], words[1:], body)
}

// checkNames refuses outcomes of clients that do not exist, which could never
// come true and would look like a missing message.
func (p *player) checkNames(s *step) error {
	for _, o := range s.outcomes {
		if _, err := p.find(o.client); err != nil {
			return fmt.Errorf("%q: %w", o.header, err)
		}
	}
	return nil
}

// endsClient reports whether the step itself ended the connection of name.
func (s *step) endsClient(name string) bool {
	return (s.verb == "close" || s.verb == "cut") && s.args[0] == name
}

// compare holds what every client saw against the trace.
func (p *player) compare(s *step) error {
	var reports []string
	for _, c := range p.all() {
		received, ended := c.take()
		if r := p.compareMessages(s.outcome(c.name, false), received); r != "" {
			reports = append(reports, fmt.Sprintf("client %s:\n%s", c.name, r))
		}
		if err := p.compareEnd(s, c, ended); err != nil {
			reports = append(reports, fmt.Sprintf("client %s: %v", c.name, err))
		}
		p.forget(c, ended != nil || s.endsClient(c.name))
	}
	if len(reports) > 0 {
		return errors.New("unexpected outcome\n" + strings.Join(reports, "\n"))
	}
	return nil
}

// all returns a copy, so that clients can be forgotten on the way.
func (p *player) all() []*client { return append([]*client(nil), p.clients...) }

func (p *player) compareMessages(o *outcome, received [][]byte) string {
	if o == nil {
		o = &outcome{}
	}
	return report(p.bound.align(o.messages, received))
}

func (p *player) compareEnd(s *step, c *client, ended error) error {
	o := s.outcome(c.name, true)
	switch {
	case errors.Is(ended, errFlood):
		return ended
	case o == nil && (ended == nil || s.endsClient(c.name)):
		return nil
	case o == nil:
		return fmt.Errorf("connection ended unexpectedly: %w", ended)
	case ended == nil:
		return errors.New("connection is open, want it ended")
	}
	return p.matchEnd(o, ended)
}

// matchEnd compares the way a connection ended with what is written.
func (p *player) matchEnd(o *outcome, ended error) error {
	code, reason := closing(ended)
	if o.code != 0 && o.code != code {
		return fmt.Errorf("connection ended with code %d, want %d: %w", code, o.code, ended)
	}
	if o.reason == "" {
		return nil
	}
	if err := p.bound.matchReason(o.reason, reason); err != nil {
		return fmt.Errorf("closing reason: %w", err)
	}
	return nil
}

// forget takes a client whose connection is over off the list and releases it.
func (p *player) forget(c *client, over bool) {
	if !over {
		return
	}
	c.close(transport.CodeNormal, "") // the connection is gone: its error says only that
	for i, other := range p.clients {
		if other == c {
			p.clients = append(p.clients[:i], p.clients[i+1:]...)
			return
		}
	}
}

// close ends all connections that are left and waits for their readers.
func (p *player) close() {
	for _, c := range p.all() {
		p.forget(c, true)
	}
}

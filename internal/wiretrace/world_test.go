package wiretrace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/causeway-ahp/causeway/transport"
)

// echoWorld is a host of the simplest kind: it repeats what it is told.
type echoWorld struct {
	loops sync.WaitGroup

	mu    sync.Mutex
	conns map[string]*echoConn
	seq   int
}

// request is everything one can ask of it.
type request struct {
	Say   jsontext.Value `json:"say"`
	Name  jsontext.Value `json:"name"`  // say it as the name of a member
	To    string         `json:"to"`    // instead of the sender
	After string         `json:"after"` // so much later
	Bye   int            `json:"bye"`   // end the connection with this code
	Why   string         `json:"why"`
	Raw   string         `json:"raw"`   // answer with this text
	Flood bool           `json:"flood"` // answer without end
}

func newEchoWorld(t *testing.T) World {
	w := &echoWorld{conns: make(map[string]*echoConn), seq: rand.IntN(1000)}
	t.Cleanup(w.loops.Wait)
	return w
}

// uncuttable hides Cut.
type uncuttable struct{ World }

func (w *echoWorld) Dial(client string) (transport.Conn, error) {
	if client == "stranger" {
		return nil, errors.New("who are you")
	}
	c := &echoConn{
		toHost: make(chan []byte, 100), toClient: make(chan []byte, 100), done: make(chan struct{}),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[client] = c
	w.loops.Go(func() { w.serve(client, c) })
	return c, nil
}

func (w *echoWorld) serve(client string, c *echoConn) {
	for {
		select {
		case text := <-c.toHost:
			w.answer(client, c, text)
		case <-c.done:
			return
		}
	}
}

func (w *echoWorld) answer(client string, c *echoConn, text []byte) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		c.deliver(`{"error":"parse"}`)
		return
	}
	for r.Flood && c.deliver(`"blah"`) {
	}
	switch {
	case r.Bye != 0:
		c.end(&transport.CloseError{Code: transport.Code(r.Bye), Reason: r.Why, Remote: true})
	case r.Raw != "":
		c.deliver(r.Raw)
	case r.After != "":
		d, _ := time.ParseDuration(r.After)
		time.AfterFunc(d, func() { c.deliver(w.echo(r, "")) })
	case r.To != "":
		w.conn(r.To).deliver(w.echo(r, client))
	case r.Say != nil, r.Name != nil:
		c.deliver(w.echo(r, ""))
	}
}

func (w *echoWorld) conn(client string) *echoConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns[client]
}

func (w *echoWorld) echo(r request, from string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), w.seq)
	if r.Name != nil {
		return fmt.Sprintf(`{"%s":%s}`, id, r.Name)
	}
	text := fmt.Sprintf(`{"seq":%d,"id":%q,"said":%s`, w.seq, id, r.Say)
	if from != "" {
		text += fmt.Sprintf(`,"from":%q`, from)
	}
	return text + "}"
}

// Do knows "emit", which adds its arguments to the body and sends it to all.
func (w *echoWorld) Do(command string, args []string, body string) error {
	if command != "emit" {
		return fmt.Errorf("unknown command %q", command)
	}
	quoted, err := json.Marshal(args)
	if err != nil {
		return err
	}
	text := strings.TrimSuffix(strings.TrimSpace(body), "}") + `,"args":` + string(quoted) + "}"
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.deliver(text)
	}
	return nil
}

func (w *echoWorld) Cut(client string) error {
	w.conn(client).end(errors.New("broken"))
	return nil
}

// echoConn is a connection made of channels.
type echoConn struct {
	toHost, toClient chan []byte
	once             sync.Once
	done             chan struct{}
	err              error
}

func (c *echoConn) deliver(text string) bool {
	select {
	case <-c.done:
		return false
	default:
	}
	select {
	case c.toClient <- []byte(text):
		return true
	case <-c.done:
		return false
	}
}

func (c *echoConn) end(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.done)
	})
}

// Read prefers messages to the end, as a network would.
func (c *echoConn) Read() ([]byte, error) {
	select {
	case text := <-c.toClient:
		return text, nil
	default:
	}
	select {
	case text := <-c.toClient:
		return text, nil
	case <-c.done:
		return nil, c.err
	}
}

func (c *echoConn) Write(batch [][]byte) error {
	for _, text := range batch {
		select {
		case c.toHost <- text:
		case <-c.done:
			return c.err
		}
	}
	return nil
}

func (c *echoConn) Close(code transport.Code, reason string) error {
	c.end(&transport.CloseError{Code: code, Reason: reason})
	return nil
}

func (c *echoConn) RemoteAddr() string   { return "echo" }
func (c *echoConn) Kind() transport.Kind { return transport.KindMemory }

package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/causeway-ahp/causeway/transport/stdio"
	"github.com/go-json-experiment/json/jsontext"
)

// Player plays the agent of a transcript.
type Player struct {
	Transcript *Transcript
	// Speed divides the waits of the transcript; 0 leaves them out.
	Speed float64
}

// ExitError says that the script ended the agent.
type ExitError struct {
	Code int
	Text string // for the error output
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("the script ended with code %d", e.Code) }

// Serve speaks ACP over the two streams until the client ends or ctx does. The
// error is an *ExitError when the script ends the agent, and nil at the end of
// the input. If the streams are io.Closers they are closed.
func (p *Player) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &conversation{
		p: p, conn: stdio.New(in, out, stdio.Options{MaxMessageBytes: MaxLineBytes}), end: cancel,
		options: p.Transcript.options(), waiting: make(map[string]chan jsonrpc.Message),
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close(0, "") })
	defer stop()
	err := c.serve(ctx)
	cancel(err)
	c.turns.Wait()
	_ = c.conn.Close(0, "")
	var exit *ExitError
	if errors.As(context.Cause(ctx), &exit) {
		return exit
	}
	return nil
}

// conversation is one run of a player.
type conversation struct {
	p     *Player
	conn  *stdio.Conn
	end   context.CancelCauseFunc
	turns sync.WaitGroup

	// The reader's.
	session string
	played  int
	options *options

	mu      sync.Mutex
	lastID  int
	waiting map[string]chan jsonrpc.Message // requests of the agent, by id
	cancel  func()                          // of the turn that runs, nil for none
}

var errEndOfInput = errors.New("the client has ended")

// serve answers requests until there are no more.
func (c *conversation) serve(ctx context.Context) error {
	for {
		line, err := c.conn.Read()
		if err != nil {
			return errEndOfInput
		}
		m, err := jsonrpc.Scan(line)
		if err != nil {
			continue // what is no message has no answer
		}
		switch {
		case m.Kind == jsonrpc.KindResponse:
			c.deliver(m)
		case m.Method == "session/prompt":
			c.prompt(ctx, m)
		case m.Method == "session/cancel":
			c.cancelTurn()
		case m.Kind == jsonrpc.KindRequest:
			c.answer(ctx, m)
		}
	}
}

// send writes a message. When the client is gone the reader hears of it too.
func (c *conversation) send(msg []byte) { _ = c.conn.Write([][]byte{msg}) }

func (c *conversation) reply(id jsonrpc.ID, result jsontext.Value) {
	c.send(jsonrpc.AppendResult(nil, id, result))
}

func (c *conversation) fail(id jsonrpc.ID, f *Failure) {
	c.send(jsonrpc.AppendError(nil, id, &jsonrpc.Error{Code: f.Code, Message: f.Message, Data: f.Data}))
}

// deliver hands a response to the turn that waits for it.
func (c *conversation) deliver(m jsonrpc.Message) {
	c.mu.Lock()
	waiting := c.waiting[m.ID.String()]
	delete(c.waiting, m.ID.String())
	c.mu.Unlock()
	if waiting != nil {
		waiting <- m // it has room for the one response
	}
}

// ask sends a request of the agent's and returns where its response comes.
func (c *conversation) ask(method string, params jsontext.Value) <-chan jsonrpc.Message {
	c.mu.Lock()
	c.lastID++ // of their own numbering, from 1
	id := jsonrpc.NumberID(uint64(c.lastID))
	response := make(chan jsonrpc.Message, 1)
	c.waiting[id.String()] = response
	c.mu.Unlock()
	c.send(jsonrpc.AppendRequest(nil, id, method, params))
	return response
}

// cancelTurn stops the turn that runs, if it listens.
func (c *conversation) cancelTurn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// prompt plays the turn of a prompt beside the reader.
func (c *conversation) prompt(ctx context.Context, m jsonrpc.Message) {
	text := promptText(m.Params)
	turn := c.p.Transcript.find(text, c.played)
	c.played++
	if turn == nil {
		turn = c.p.Transcript.unknown(text)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &run{c: c, ctx: ctx, turn: turn, prompt: m.ID, saved: map[string]string{"sessionId": c.session}}
	c.mu.Lock()
	c.cancel = func() { r.cancelled(cancel) }
	c.mu.Unlock()
	c.turns.Go(func() {
		defer cancel(nil)
		r.play()
	})
}

// unknown is the turn of a message that no turn is for.
func (t *Transcript) unknown(text string) *Turn {
	words := make([]string, 0, len(t.Turns))
	for _, turn := range t.Turns {
		words = append(words, turn.Word)
	}
	said := fmt.Sprintf("There is no script %q. There are: %s.\n", firstWord(text), strings.Join(words, ", "))
	return &Turn{Lines: []Line{{Update: textUpdate(said)}, {End: "end_turn"}}}
}

func textUpdate(text string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, text) // what is ill-formed in it is replaced
	return jsontext.Value(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + string(quoted) + `}}`)
}

// wait waits for as long as the transcript did.
func (p *Player) wait(ctx context.Context, d time.Duration) {
	if p.Speed <= 0 || d <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(float64(d) / p.Speed))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

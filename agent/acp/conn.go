package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/jsonrpc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Peer is a running agent as this package needs it: a child process, or a script
// behind a pipe. Read and Write may overlap each other, and End both.
type Peer interface {
	io.Reader // what the agent says
	io.Writer // what it hears
	// End ends the agent and everything it started and returns when it is gone.
	// It is idempotent, and Read and Write fail afterwards.
	End()
	// Status says how the agent ended, such as "exit status 1".
	Status() string
	// LastWords is the last line of its error output, "" for none.
	LastWords() string
}

// maxNoise is how many lines a minute that are no message are put up with.
const maxNoise = 100

var errNoise = fmt.Errorf("the agent wrote more than %d lines a minute that are no messages", maxNoise)

// conn is the connection to one agent. Its one inbox is its read loop: messages
// are handled in the order in which they came.
type conn struct {
	peer  Peer
	rpc   *jsonrpc.Conn
	out   *outbox
	log   *slog.Logger
	stats *counters
	heard func() // called for each message, on the reader

	noise int       // lines since the minute began; the reader's
	since time.Time // when it began

	loops  sync.WaitGroup
	ending chan struct{} // closed when the agent is to end; cause is set then
	gone   chan struct{} // closed when the agent is gone and every call has failed
	mu     sync.Mutex
	cause  error // why; the first counts
}

// newConn speaks with peer and owns it from now on.
func newConn(ctx context.Context, peer Peer, h jsonrpc.Handler, log *slog.Logger, stats *counters) *conn {
	c := &conn{
		peer: peer, out: newOutbox(), log: log, stats: stats, heard: func() {},
		ending: make(chan struct{}), gone: make(chan struct{}),
	}
	c.rpc = jsonrpc.NewConn(ctx, jsonrpc.Options{
		Send: c.send, Urgent: c.sendCancel, Handler: h, MapError: wireError,
		OnPanic: func(v any, stack []byte) {
			log.Error("handler of an agent's message panicked", "panic", fmt.Sprint(v), "stack", string(stack))
		},
	})
	return c
}

// start begins to read and write.
func (c *conn) start() {
	c.loops.Go(func() { c.out.writeLoop(c.peer) })
	c.loops.Go(c.readLoop)
	c.loops.Go(c.endLoop)
}

// send queues a message. An agent that does not take it is of no use any more.
func (c *conn) send(msg []byte) error {
	err := c.out.push(msg)
	if errors.Is(err, errOutboxFull) {
		c.fail(err)
	}
	return err
}

// sendCancel puts a cancel of one of our calls in ACP's words.
func (c *conn) sendCancel(msg []byte) error {
	m, err := jsonrpc.Scan(msg)
	if err != nil {
		return fmt.Errorf("scan own cancel: %w", err)
	}
	id, _ := jsonrpc.Member(m.Params, "id")
	return c.send(jsonrpc.AppendNotification(nil, methodCancelRequest, object("requestId", id)))
}

// object is a JSON object with one member.
func object(name string, value jsontext.Value) jsontext.Value {
	out, _ := jsontext.AppendQuote(append(make(jsontext.Value, 0, len(value)+len(name)+8), '{'), name)
	return append(append(append(out, ':'), value...), '}')
}

// readLoop is the inbox. It ends when the agent is gone.
func (c *conn) readLoop() {
	err := c.read()
	c.fail(err)
	c.peer.End()
	c.out.close()
	c.rpc.Close(c.why())
	close(c.gone)
}

// read handles messages until there can be no more.
func (c *conn) read() (err error) {
	defer func() { // what reaches here is our own broken promise, and one agent's end
		if v := recover(); v != nil {
			c.log.Error("reader of an agent panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = errors.New("the host could not follow the agent")
		}
	}()
	lines := newLineReader(c.peer)
	for {
		line, err := lines.next()
		if err != nil {
			return err
		}
		if err := c.receive(line); err != nil {
			return err
		}
	}
}

// receive handles a line. What is no message is skipped, up to a rate.
func (c *conn) receive(line []byte) error {
	m, err := jsonrpc.Scan(line)
	if err != nil && m.Kind != jsonrpc.KindResponse {
		return c.skip(len(line))
	}
	c.heard()
	if m.Kind == jsonrpc.KindNotification && m.Method == methodCancelRequest {
		id, _ := jsonrpc.Member(m.Params, "requestId")
		line = jsonrpc.AppendNotification(nil, jsonrpc.MethodCancel, object("id", id))
	}
	return c.rpc.Receive(line)
}

// skip counts a line that is no message.
func (c *conn) skip(length int) error {
	c.stats.noise.Add(1)
	if now := time.Now(); now.Sub(c.since) > time.Minute {
		c.since, c.noise = now, 0
		c.log.Warn("agent wrote a line that is no message", "bytes", length)
	}
	if c.noise++; c.noise > maxNoise {
		return errNoise
	}
	return nil
}

// fail has the agent ended; the first cause counts. It returns at once.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
		close(c.ending)
	}
}

// endLoop ends the agent when there is a reason to, which ends the reader. The
// reader always has one in the end.
func (c *conn) endLoop() {
	<-c.ending
	c.peer.End()
}

// why is why the agent is gone. It may be asked after gone.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// close ends the agent and waits for it.
func (c *conn) close() {
	c.fail(errEnded)
	c.loops.Wait()
}

// call sends a request and waits for its answer, until ctx ends.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	err := c.rpc.Call(ctx, method, params, result)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// wireError is what an agent sees of an error of ours: its text holds nothing of
// the host beyond what the agent asked with.
func wireError(err error) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", err.Error())
}

// decodeOptions accept what JavaScript agents send.
var decodeOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

func decode(raw jsontext.Value, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = jsontext.Value("{}")
	}
	return json.Unmarshal(raw, into, decodeOptions)
}

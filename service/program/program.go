package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a program.
const (
	// MaxLineBytes bounds a line of its output: the largest result that hosts
	// relay, with room for what stands around it.
	MaxLineBytes = 5 << 20
	// maxUnanswered bounds the lines that a program without ids may be behind.
	// It keeps the answers of such a program apart; one that knows ids does not
	// answer notifications, and theirs are forgotten.
	maxUnanswered = 4096
)

// Options say what to run.
type Options struct {
	Command process.Command
	// Stderr gets what the program writes to its error output; nil: nobody.
	Stderr io.Writer
	// HealthyAfter is how long a program must have run for an end of it not to
	// count against it. Zero: 10 s.
	HealthyAfter time.Duration
	// MaxFailures is how many unhealthy ends in a row are too many. Zero: 5.
	MaxFailures int
	// PauseMin is the pause before the first new start; it doubles up to 10 s.
	// Zero: 200 ms.
	PauseMin time.Duration
	// Log never receives payloads; nil: discarded.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.HealthyAfter <= 0 {
		o.HealthyAfter = 10 * time.Second
	}
	if o.MaxFailures <= 0 {
		o.MaxFailures = 5
	}
	if o.PauseMin <= 0 {
		o.PauseMin = 200 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

const pauseMax = 10 * time.Second

// Program is a service that a program performs. It implements client.Handler.
type Program struct {
	opts   Options
	ctx    context.Context // the life of the program; its cause is why it ended
	cancel context.CancelCauseFunc
	loop   sync.WaitGroup
	lines  chan line // to be written to the program

	// mu guards what the program owes.
	mu     sync.Mutex
	lastID uint64
	calls  map[uint64]chan<- answer
	order  []uint64 // lines without an answer, oldest first; zero for a notification
	ids    bool     // the program answers with ids
}

var _ client.Handler = (*Program)(nil)

// errClosed is why a program ended that was closed.
var errClosed = errors.New("the program was closed")

// Start starts the program. The error says that it could not be started at all.
// Ctx lends its values; the program ends with Close.
func Start(ctx context.Context, o Options) (*Program, error) {
	p := &Program{opts: o.withDefaults(), lines: make(chan line), calls: make(map[uint64]chan<- answer)}
	p.ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	child, err := process.StartChild(p.command())
	if err != nil {
		return nil, err
	}
	p.loop.Go(func() { p.runLoop(child) })
	return p, nil
}

func (p *Program) command() process.Command {
	c := p.opts.Command
	c.Stderr = p.opts.Stderr
	return c
}

// Done is closed when the program has ended for good.
func (p *Program) Done() <-chan struct{} { return p.ctx.Done() }

// Err is why it has; nil while it has not and after Close.
func (p *Program) Err() error {
	if err := context.Cause(p.ctx); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// Close ends the program and waits for it. It returns nil always.
func (p *Program) Close() error {
	p.cancel(errClosed)
	p.loop.Wait()
	return nil
}

// runLoop runs one program after the other.
func (p *Program) runLoop(child *process.Child) {
	failures, wait := 0, p.opts.PauseMin
	for {
		began := time.Now()
		why := p.run(child)
		if p.ctx.Err() != nil {
			return
		}
		if failures++; time.Since(began) >= p.opts.HealthyAfter {
			failures, wait = 1, p.opts.PauseMin
		}
		if failures >= p.opts.MaxFailures {
			p.cancel(fmt.Errorf("the program has ended %d times in a row: %w", failures, why))
			return
		}
		p.opts.Log.Warn("the program has ended and is started again", "why", why, "in", wait)
		if child = p.again(wait); child == nil {
			return
		}
		wait = min(2*wait, pauseMax)
	}
}

// again starts the program after a pause; nil says that it is over.
func (p *Program) again(wait time.Duration) *process.Child {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.ctx.Done():
		return nil
	}
	child, err := process.StartChild(p.command())
	if err != nil {
		p.cancel(err)
		return nil
	}
	return child
}

// run serves one run of the program to its end and tells why it ended.
func (p *Program) run(child *process.Child) error {
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { p.writeLoop(child, stop) })
	watch := context.AfterFunc(p.ctx, child.End)
	err := p.readLoop(child)
	watch()
	close(stop)
	child.End()
	writer.Wait()
	why := describe(child, err)
	p.fail(ahp.Errorf(ahp.CodeClientServiceUnavailable, "the program has ended (%s)", ending(child)))
	return why
}

func ending(child *process.Child) string {
	if s := child.Status(); s != "" {
		return s
	}
	return "it does not end"
}

func describe(child *process.Child, err error) error {
	text := ending(child)
	if errors.Is(err, errLineTooLong) {
		text = err.Error()
	}
	if words := child.LastWords(); words != "" {
		text += ": " + words
	}
	return errors.New(text)
}

// writeLoop writes what comes until the run ends. When the program has closed its
// input, readLoop notices its end.
func (p *Program) writeLoop(child *process.Child, stop <-chan struct{}) {
	for {
		select {
		case l := <-p.lines:
			id := p.expect(l.answered)
			if _, err := child.Write(l.text(id)); err != nil {
				p.complete(id, answer{err: ahp.Errorf(ahp.CodeClientServiceUnavailable, "the program does not take input any more")})
			}
		case <-stop:
			return
		}
	}
}

// HandleCall implements client.Handler. While no program runs, it waits for one.
func (p *Program) HandleCall(ctx context.Context, from client.Sender, method string, params jsontext.Value) (any, error) {
	answered := make(chan answer, 1)
	if err := p.give(ctx, from, method, params, answered); err != nil {
		return nil, err
	}
	select {
	case a := <-answered:
		return a.result, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the answer to come still has its place
	case <-p.ctx.Done():
		return nil, errOver
	}
}

// HandleNotification implements client.Handler.
func (p *Program) HandleNotification(ctx context.Context, from client.Sender, method string, params jsontext.Value) {
	if err := p.give(ctx, from, method, params, nil); err != nil {
		p.opts.Log.Debug("a notification did not reach the program", "err", err)
	}
}

// KeepsNoParams implements client.TransientHandler: a line is a copy.
func (p *Program) KeepsNoParams() {}

// errOver is what callers hear once the program has ended for good.
var errOver = ahp.Errorf(ahp.CodeClientServiceUnavailable, "the program has ended for good")

// give hands a line to the writer of a running program.
func (p *Program) give(ctx context.Context, from client.Sender, method string, params jsontext.Value, answered chan<- answer) error {
	l, err := newLine(from.ClientID, method, params, answered)
	if err != nil {
		return err
	}
	select {
	case p.lines <- l:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.ctx.Done():
		return errOver
	}
}

package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/causeway-ahp/causeway/agent/process"
)

// batch is a running "git cat-file --batch-command", used by one at a time.
type batch struct {
	child *process.Child
	out   *bufio.Reader
	worn  bool // it failed in the middle and cannot be used again
}

// header is what Git says of an object before its data.
type header struct {
	oid, kind string
	size      int64
	missing   bool
}

// errGitEnded is the end of a process in the middle of its answers: the object that
// was next is one that Git cannot read.
var errGitEnded = errors.New("git ended")

// acquire takes an idle process or starts one, waiting while enough are at work.
func (r *repository) acquire(ctx context.Context) (*batch, error) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		b := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return b, nil
	}
	r.mu.Unlock()
	b, err := r.startBatch()
	if err != nil {
		<-r.slots
	}
	return b, err
}

func (r *repository) startBatch() (*batch, error) {
	child, err := process.StartChild(r.command("cat-file", "--batch-command", "--buffer"))
	if err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	return &batch{child: child, out: bufio.NewReaderSize(child, 64<<10)}, nil
}

// release gives a process back, or ends it if it is worn.
func (r *repository) release(b *batch) {
	r.mu.Lock()
	keep := !b.worn && !r.closed
	if keep {
		r.idle = append(r.idle, b)
	}
	r.mu.Unlock()
	if !keep {
		b.end()
	}
	<-r.slots
}

func (b *batch) end() { b.child.End() }

// ask sends one command for each id and reads the answers in order. The process
// ends with ctx.
func (b *batch) ask(ctx context.Context, command string, oids []string, read func(header) error) error {
	stop := context.AfterFunc(ctx, b.child.End)
	var text strings.Builder
	for _, oid := range oids {
		text.WriteString(command + " " + oid + "\n")
	}
	text.WriteString("flush\n")
	written := make(chan error, 1)
	go func() { _, err := io.WriteString(b.child, text.String()); written <- err }()
	err := b.answers(len(oids), read)
	if !stop() || err != nil {
		b.worn = true
		b.child.End() // wakes the writer, should it still wait
		<-written
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return <-written
}

func (b *batch) answers(n int, read func(header) error) error {
	for range n {
		h, err := readHeader(b.out)
		if err == nil {
			err = read(h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readHeader reads a line "<oid> <type> <size>" or "<oid> missing".
func readHeader(r *bufio.Reader) (header, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return header{}, fmt.Errorf("%w: %w", errGitEnded, err)
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return header{oid: fields[0], missing: true}, nil
	}
	if len(fields) == 3 {
		if size, err := strconv.ParseInt(fields[2], 10, 64); err == nil && size >= 0 {
			return header{oid: fields[0], kind: fields[1], size: size}, nil
		}
	}
	return header{}, fmt.Errorf("git said %.100q instead of what an object is", line)
}

// heads looks the objects up.
func (b *batch) heads(ctx context.Context, oids []string) ([]header, error) {
	list := make([]header, 0, len(oids))
	err := b.ask(ctx, "info", oids, func(h header) error {
		list = append(list, h)
		return nil
	})
	return list, err
}

// contents reads the objects' data. Sizes were looked up before, so that no object
// is above what the caller can hold.
func (b *batch) contents(ctx context.Context, oids []string, take func(Object)) error {
	return b.ask(ctx, "contents", oids, func(h header) error {
		if h.missing {
			return fmt.Errorf("%w: object %s has gone", errGitEnded, h.oid)
		}
		data := make([]byte, h.size+1) // and the line's end
		if _, err := io.ReadFull(b.out, data); err != nil {
			return fmt.Errorf("%w: %w", errGitEnded, err)
		}
		take(Object{OID: h.oid, Type: h.kind, Size: h.size, Data: data[:h.size:h.size]})
		return nil
	})
}

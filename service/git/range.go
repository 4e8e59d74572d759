package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/causeway-ahp/causeway/agent/process"
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// rangeReader reads large objects piece by piece. Git only writes an object from
// its beginning, so the process of the last read is kept where it stands: who reads
// an object from front to back makes Git write it once.
type rangeReader struct {
	mu    sync.Mutex // one read at a time; held while Git is read
	child *process.Child
	out   *bufio.Reader
	head  header
	at    int64 // offset in the object of what out gives next
}

// objectRange answers getObjectRange for a repository.
func (r *repository) objectRange(ctx context.Context, p *RangeParams, maxBytes int64) (*ObjectRange, error) {
	if !r.isOID(p.OID) || p.Offset < 0 || p.Length < 0 {
		return nil, ahp.Errorf(jsonrpc.CodeInvalidParams, "a range needs a full id, and offset and length that are not negative")
	}
	limit := (maxBytes - objectOverhead) / 4 * 3
	if p.Length == 0 || p.Length > limit {
		p.Length = limit
	}
	g := &r.ranging
	g.mu.Lock()
	defer g.mu.Unlock()
	data, err := g.read(ctx, r, p)
	if err != nil {
		g.endLocked()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return &ObjectRange{OID: p.OID, Type: g.head.kind, Size: g.head.size, Offset: p.Offset, Data: data}, nil
}

func (g *rangeReader) read(ctx context.Context, r *repository, p *RangeParams) ([]byte, error) {
	if g.child == nil || g.head.oid != p.OID || g.at > p.Offset {
		if err := g.begin(r, p.OID); err != nil {
			return nil, err
		}
	}
	defer context.AfterFunc(ctx, g.child.End)()
	if g.head.oid == "" {
		if err := g.header(p.OID); err != nil {
			return nil, err
		}
	}
	n := min(p.Length, max(0, g.head.size-p.Offset))
	if n == 0 {
		return []byte{}, nil
	}
	if _, err := io.CopyN(io.Discard, g.out, p.Offset-g.at); err != nil {
		return nil, g.died(err)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(g.out, data); err != nil {
		return nil, g.died(err)
	}
	g.at = p.Offset + n
	return data, nil
}

// begin starts a process for an object.
func (g *rangeReader) begin(r *repository, oid string) error {
	g.endLocked()
	child, err := process.StartChild(r.command("cat-file", "--batch"))
	if err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	g.child, g.out, g.at, g.head = child, bufio.NewReaderSize(child, 64<<10), 0, header{}
	if _, err := io.WriteString(child, oid+"\n"); err != nil {
		return g.died(err)
	}
	return nil
}

func (g *rangeReader) header(oid string) error {
	h, err := readHeader(g.out)
	switch {
	case errors.Is(err, errGitEnded):
		return g.died(err)
	case err != nil:
		return err
	case h.missing:
		return ahp.Errorf(CodeNoObject, "there is no object %s", oid)
	}
	g.head = h
	return nil
}

// died is the end of the process in the middle of an object.
func (g *rangeReader) died(err error) error {
	g.child.End()
	if words := g.child.LastWords(); words != "" {
		return ahp.Errorf(CodeNoObject, "%s", words)
	}
	return ahp.Errorf(CodeGitFailed, "git ended in the middle of an object: %v", err)
}

func (g *rangeReader) endLocked() {
	if g.child != nil {
		g.child.End()
	}
	g.child, g.head = nil, header{}
}

func (g *rangeReader) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endLocked()
}

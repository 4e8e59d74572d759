package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// Bounds of an answer.
const (
	// DefaultMaxBytes bounds the JSON text of an answer, about.
	DefaultMaxBytes = 2 << 20
	// maxOIDs bounds the ids of one request.
	maxOIDs = 10_000
	// objectOverhead is what an object takes in an answer beside its data.
	objectOverhead = 160
)

// objects answers getObjects for a repository.
func (r *repository) objects(ctx context.Context, oids []string, maxBytes int64) (*Objects, error) {
	if len(oids) > maxOIDs {
		return nil, ahp.Errorf(CodeTooMany, "%d ids, at most %d are taken at once", len(oids), maxOIDs)
	}
	for _, oid := range oids {
		if !r.isOID(oid) {
			return nil, ahp.Errorf(jsonrpc.CodeInvalidParams, "%.70q is not a full id of %s", oid, r.info.ObjectFormat)
		}
	}
	a := &answerer{r: r, left: maxBytes, whole: maxBytes, result: &Objects{Objects: []Object{}, Missing: []string{}}}
	for a.done < len(oids) {
		more, err := a.advance(ctx, oids[a.done:min(len(oids), a.done+a.step())])
		if err != nil {
			return nil, err
		}
		if !more {
			a.result.Next = a.done
			break
		}
	}
	return a.result, nil
}

// answerer fills one answer, in the order of the ids.
type answerer struct {
	r           *repository
	result      *Objects
	left, whole int64 // bytes
	done        int   // ids dealt with
	careful     int   // ids to be asked for one by one: one of them ends the process
}

// maxStep is how many objects are looked up at once.
const maxStep = 1000

func (a *answerer) step() int {
	if a.careful > 0 {
		return 1
	}
	return maxStep
}

// advance deals with the beginning of some ids; more is false when the answer is
// full. Git writes its answers in blocks, so when it dies of an object, those
// before it are asked for again, one by one.
func (a *answerer) advance(ctx context.Context, oids []string) (more bool, err error) {
	b, err := a.r.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer a.r.release(b)
	heads, err := b.heads(ctx, oids)
	var plan []header
	var data []Object
	if err == nil {
		plan = a.plan(heads)
		err = b.contents(ctx, a.small(plan), func(o Object) { data = append(data, o) })
	}
	switch {
	case err == nil:
		a.take(plan, data)
		return len(plan) == len(oids), nil
	case !errors.Is(err, errGitEnded):
		return false, err
	case len(oids) > 1:
		a.careful = len(oids)
	default:
		a.result.Broken = append(a.result.Broken, Broken{OID: oids[0], Error: b.child.LastWords()})
		a.count()
	}
	return true, nil
}

// plan is the beginning of the objects that fits what is left of the answer. The
// first one of all always does, so that every answer is a step.
func (a *answerer) plan(heads []header) []header {
	left := a.left
	for i, h := range heads {
		cost := a.cost(h)
		if cost > left && (i > 0 || a.done > 0) {
			return heads[:i]
		}
		left -= cost
	}
	return heads
}

// small lists the ids of the objects whose data are to be read.
func (a *answerer) small(plan []header) []string {
	oids := make([]string, 0, len(plan))
	for _, h := range plan {
		if !h.missing && !a.isLarge(h) {
			oids = append(oids, h.oid)
		}
	}
	return oids
}

// take enters what was read into the answer.
func (a *answerer) take(plan []header, data []Object) {
	for _, h := range plan {
		a.left -= a.cost(h)
		a.count()
		switch {
		case h.missing && a.r.hasFile(h.oid):
			a.result.Broken = append(a.result.Broken, Broken{OID: h.oid, Error: "the object's file cannot be read"})
		case h.missing:
			a.result.Missing = append(a.result.Missing, h.oid)
		case a.isLarge(h):
			a.result.Objects = append(a.result.Objects, Object{OID: h.oid, Type: h.kind, Size: h.size, Partial: true})
		default:
			a.result.Objects = append(a.result.Objects, data[0])
			data = data[1:]
		}
	}
}

// hasFile tells an object whose file Git cannot make sense of, and which it counts
// as missing, from one that is not there.
func (r *repository) hasFile(oid string) bool {
	_, err := os.Lstat(filepath.Join(r.commonDir, "objects", oid[:2], oid[2:]))
	return err == nil
}

func (a *answerer) count() {
	a.done++
	a.careful = max(0, a.careful-1)
}

// cost is what an object takes of the answer.
func (a *answerer) cost(h header) int64 {
	if h.missing || a.isLarge(h) {
		return objectOverhead
	}
	return encodedSize(h.size)
}

// isLarge reports whether an object does not even fit an answer of its own.
func (a *answerer) isLarge(h header) bool { return h.size > a.whole || encodedSize(h.size) > a.whole }

func encodedSize(n int64) int64 { return objectOverhead + (n+2)/3*4 }

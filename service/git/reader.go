package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // Git's ids
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/client"
	"github.com/causeway-ahp/causeway/jsonrpc"
)

// ErrMismatch: data that is not what its id says.
var ErrMismatch = errors.New("the object is not what its id says")

// ReaderOptions say what a Reader reads.
type ReaderOptions struct {
	// Repo is the repository's name; empty where the service has one only.
	Repo string
	// Match chooses the service; nil: the first that reads Git objects.
	Match func(ahp.ClientService) bool
	// CacheBytes bounds the objects kept. Zero: 64 MiB; negative: none.
	CacheBytes int64
}

// Reader reads objects through a Git service. An id never changes its meaning, so
// it keeps what it has read. When the service leaves and comes back under another
// id, it is found again. Its methods may be called concurrently.
type Reader struct {
	c     *client.Client
	opts  ReaderOptions
	list  *client.ServiceList
	cache *cache
}

// NewReader makes a reader. Close it when done.
func NewReader(ctx context.Context, c *client.Client, o ReaderOptions) (*Reader, error) {
	if o.Match == nil {
		o.Match = isGit
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	list, err := c.Services(ctx)
	if err != nil {
		return nil, err
	}
	return &Reader{c: c, opts: o, list: list, cache: newCache(o.CacheBytes)}, nil
}

func isGit(s ahp.ClientService) bool {
	raw, _ := jsonrpc.Member(s.Metadata, "protocol")
	name, _ := jsonrpc.StringValue(raw)
	return name == Protocol
}

// Close ends the reader. It returns nil always.
func (r *Reader) Close() error { return r.list.Close() }

// call calls the service as soon as there is one, and once more when it has left
// meanwhile: reading twice does no harm.
func (r *Reader) call(ctx context.Context, method string, params, result any) error {
	var err error
	for range 2 {
		found, missing := r.list.Wait(ctx, r.opts.Match)
		if missing != nil {
			return missing
		}
		err = r.c.Service(found.ServiceID).Call(ctx, method, params, result)
		if !errors.Is(err, client.ErrServiceUnavailable) && !errors.Is(err, client.ErrServiceNotFound) {
			return err
		}
	}
	return err
}

func (r *Reader) repo() RepoParams { return RepoParams{Repo: r.opts.Repo} }

// Refs lists the refs whose names begin with prefix.
func (r *Reader) Refs(ctx context.Context, prefix string) (*Refs, error) {
	var all Refs
	for after := ""; ; after = all.Next {
		var page Refs
		err := r.call(ctx, MethodRefs, RefsParams{RepoParams: r.repo(), Prefix: prefix, After: after}, &page)
		if err != nil {
			return nil, err
		}
		page.Refs = append(all.Refs, page.Refs...)
		if all = page; all.Next == "" {
			return &all, nil
		}
	}
}

// askOIDs is how many objects the reader asks for at once.
const askOIDs = 4096

// Objects reads objects and gives each one to take, as they come, those it has
// kept first. Missing are those that the repository does not have. An object that Git cannot read
// is an error, as is one that is not what its id says (ErrMismatch).
func (r *Reader) Objects(ctx context.Context, oids []string, take func(Object) error) (missing []string, err error) {
	var rest []string
	for _, oid := range oids {
		if o, ok := r.cache.get(oid); !ok {
			rest = append(rest, oid)
		} else if err := take(o); err != nil {
			return nil, err
		}
	}
	for len(rest) > 0 {
		n, absent, err := r.fetch(ctx, rest[:min(len(rest), askOIDs)], take)
		if err != nil {
			return nil, err
		}
		missing, rest = append(missing, absent...), rest[n:]
	}
	return missing, nil
}

// fetch asks once and tells how many of the ids were dealt with.
func (r *Reader) fetch(ctx context.Context, oids []string, take func(Object) error) (n int, missing []string, err error) {
	var page Objects
	if err := r.call(ctx, MethodObjects, ObjectsParams{RepoParams: r.repo(), OIDs: oids}, &page); err != nil {
		return 0, nil, err
	}
	if len(page.Broken) > 0 {
		return 0, nil, fmt.Errorf("object %s: %s", page.Broken[0].OID, page.Broken[0].Error)
	}
	for _, o := range page.Objects {
		if err := r.receive(ctx, o, take); err != nil {
			return 0, nil, err
		}
	}
	switch n = page.Next; {
	case n == 0:
		n = len(oids)
	case n < 0 || n > len(oids):
		return 0, nil, fmt.Errorf("%s: the service dealt with %d of %d objects", MethodObjects, n, len(oids))
	}
	return n, page.Missing, nil
}

func (r *Reader) receive(ctx context.Context, o Object, take func(Object) error) error {
	if o.Partial {
		if err := r.complete(ctx, &o); err != nil {
			return err
		}
	}
	if err := Verify(o); err != nil {
		return err
	}
	r.cache.put(o)
	return take(o)
}

// complete reads the data of an object above the service's bound.
func (r *Reader) complete(ctx context.Context, o *Object) error {
	for int64(len(o.Data)) < o.Size {
		var part ObjectRange
		p := RangeParams{RepoParams: r.repo(), OID: o.OID, Offset: int64(len(o.Data))}
		if err := r.call(ctx, MethodObjectRange, p, &part); err != nil {
			return err
		}
		if len(part.Data) == 0 {
			return fmt.Errorf("object %s: %w: it ends early", o.OID, ErrMismatch)
		}
		o.Data = append(o.Data, part.Data...)
	}
	o.Partial = false
	return nil
}

// Object reads one object; ErrNoObject if the repository does not have it.
func (r *Reader) Object(ctx context.Context, oid string) (Object, error) {
	var found Object
	missing, err := r.Objects(ctx, []string{oid}, func(o Object) error { found = o; return nil })
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("object %s: %w", oid, ErrNoObject)
	}
	return found, err
}

// Verify checks an object against its id.
func Verify(o Object) error {
	var h hash.Hash = sha1.New() //nolint:gosec // Git's ids
	if len(o.OID) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", o.Type, len(o.Data))
	h.Write(o.Data)
	if got := hex.EncodeToString(h.Sum(nil)); got != o.OID || int64(len(o.Data)) != o.Size {
		return fmt.Errorf("object %s: %w", o.OID, ErrMismatch)
	}
	return nil
}

// WatchRefs calls changed with every change of refs, in order, until ctx ends. It
// offers a service of its own to hear of them. Changes while the connection of
// either side is lost are not told: ready is called when the watch has begun, and
// again whenever it has begun anew, which is the moment to list the refs. Both run
// one at a time and must not wait for long.
func (r *Reader) WatchRefs(ctx context.Context, ready func(), changed func(RefsChanged)) error {
	var m client.Methods
	client.OnNotify(&m, MethodRefsChanged, func(_ context.Context, _ client.Sender, in RefsChanged) { changed(in) })
	ear, err := r.c.Register(ctx, map[string]string{"protocol": "git-refs-listener"}, &m)
	if err != nil {
		return err
	}
	defer ear.Close()
	for u, err := range r.watched(ctx, ear) {
		if err != nil {
			return err
		}
		params := WatchParams{RepoParams: r.repo(), ServiceID: u.ear}
		if err := r.c.Service(u.git).Call(ctx, MethodWatchRefs, params, nil); err == nil {
			ready()
		} else if !passes(err) {
			return err
		}
	}
	return context.Cause(ctx)
}

// passes reports whether an error is one of a moment: the catalogue will tell when
// to try again.
func passes(err error) bool {
	return errors.Is(err, client.ErrServiceNotFound) || errors.Is(err, client.ErrServiceUnavailable) || errors.Is(err, client.ErrConnectionLost)
}

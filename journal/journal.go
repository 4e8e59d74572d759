package journal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps records beyond the life of the process.
type Store interface {
	// Write takes a group of records in the order of their numbers and returns
	// when they would survive the death of the process. The slice is reused.
	Write(group []*Record) error
	// Sync makes what was written survive the loss of power.
	Sync() error
	// Close releases the store after a last Sync.
	Close() error
}

// Errors of a journal and its stores.
var (
	ErrClosed    = errors.New("journal is closed")
	ErrNoChannel = errors.New("no such channel in the journal")
	// ErrDamaged means that what was stored does not read back as it was
	// written.
	ErrDamaged = errors.New("the journal is damaged")
)

// Default bounds of the ring. The host must be able to replay at least 10,000
// envelopes.
const (
	DefaultRingRecords = 16_384
	DefaultRingBytes   = 64 << 20
)

// Options of a journal. Zero values mean the defaults.
type Options struct {
	Store       Store // nil keeps the ring only; the mark then moves at once
	RingRecords int
	RingBytes   int // bytes as Record.Size counts them

	// Start is what an earlier process left: the last number, and the newest
	// actions for the ring, in order. Oldest is the number above which those
	// are complete.
	Start  uint64
	Oldest uint64
	Newest []*Record

	// SyncEvery is how often what was written is made to survive the loss of
	// power. Zero leaves that to the store.
	SyncEvery time.Duration

	// Committed is called after the mark moved, without a lock, by the
	// goroutine that writes to the store. It is not called without a store.
	Committed func(seq uint64)
	// Wrote is told of every group the store was given, also one it refused: how many
	// records it has and how long the store took. The goroutine that writes calls it.
	Wrote func(records int, took time.Duration)
	// Failed is called when the store refuses a group. The group stays
	// pending and is tried again, together with what came since: after
	// RetryMin, and then after twice as long each time, up to RetryMax. It is
	// also called when a Sync fails.
	Failed func(error)
}

// Bounds of the pause after the store refused a group.
const (
	RetryMin = 50 * time.Millisecond
	RetryMax = 5 * time.Second
)

// Journal is the record of everything ordered. Append belongs to the holder of
// the sequencer's lock; all other methods may be called concurrently.
type Journal struct {
	opts      Options
	committed atomic.Uint64
	backlog   atomic.Int64  // bytes of records the store has not taken
	wake      chan struct{} // holds one token when something is pending
	closing   chan struct{} // closed by Close
	loops     sync.WaitGroup
	trouble   atomic.Pointer[Trouble]
	unsynced  atomic.Bool // something was written since the last Sync

	// mu guards what follows. It is held for no I/O.
	mu      sync.Mutex
	ring    ring
	pending []*Record
	closed  bool
	behind  behind
}

// New returns a journal. Close must be called to release its store.
func New(opts Options) *Journal {
	if opts.RingRecords <= 0 {
		opts.RingRecords = DefaultRingRecords
	}
	if opts.RingBytes <= 0 {
		opts.RingBytes = DefaultRingBytes
	}
	j := &Journal{opts: opts, wake: make(chan struct{}, 1), closing: make(chan struct{})}
	j.ring.maxRecords, j.ring.maxBytes = opts.RingRecords, opts.RingBytes
	j.ring.dropped = opts.Oldest
	for _, r := range opts.Newest {
		j.ring.push(r)
	}
	j.opts.Newest = nil
	j.committed.Store(opts.Start)
	if opts.Store == nil {
		return j
	}
	j.loops.Go(j.writeLoop)
	if opts.SyncEvery > 0 {
		j.loops.Go(j.syncLoop)
	}
	return j
}

// Append adds the records of one step: the store takes all of them or none. It
// does not wait: with a store, they are committed later.
func (j *Journal) Append(step ...*Record) error {
	if len(step) == 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	for _, r := range step {
		if r.Kind == Action { // nothing else is replayed, so nothing else pushes it out
			j.ring.push(r)
		}
	}
	if j.opts.Store == nil {
		j.committed.Store(step[len(step)-1].Seq)
		return nil
	}
	if len(j.pending) == 0 {
		j.behind.pending = time.Now()
	}
	j.pending = append(j.pending, step...)
	for _, r := range step {
		j.backlog.Add(int64(r.Size()))
	}
	select {
	case j.wake <- struct{}{}:
	default:
	}
	return nil
}

// Backlog is the size, in bytes, of what the store has not taken yet. Whoever
// appends keeps it bounded, by waiting for the mark before it produces more: a
// record that has been reduced cannot be refused any more.
func (j *Journal) Backlog() int64 { return j.backlog.Load() }

// Committed is the highest number that may be shown to anybody.
func (j *Journal) Committed() uint64 { return j.committed.Load() }

// Oldest is the lowest number after which Replay is complete. It never falls.
func (j *Journal) Oldest() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ring.dropped
}

// Replay returns, in order, the actions with a number above after that keep
// accepts, and the sum of their sizes in bytes. It is false when the ring no
// longer holds everything above after.
func (j *Journal) Replay(after uint64, keep func(*Record) bool) (records []*Record, size int, complete bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if after < j.ring.dropped {
		return nil, 0, false
	}
	j.ring.above(after, func(r *Record) {
		if keep(r) {
			records = append(records, r)
			size += r.Size()
		}
	})
	return records, size, true
}

// Find returns the action that came from the dispatch, nil when the ring does
// not hold it.
func (j *Journal) Find(lineage, clientSeq uint64) *Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ring.dispatched[dispatch{lineage, clientSeq}]
}

// Len is the number of records in the ring and their size in bytes.
func (j *Journal) Len() (records, bytes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ring.len(), j.ring.bytes
}

// Close writes what is pending, once, and closes the store.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		j.loops.Wait()
		return nil
	}
	j.closed = true
	close(j.wake)
	close(j.closing)
	j.mu.Unlock()
	j.loops.Wait()
	if j.opts.Store == nil {
		return nil
	}
	if err := j.opts.Store.Close(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// writeLoop gives groups to the store: whatever was appended while the last
// group was being written is the next one.
func (j *Journal) writeLoop() {
	var group []*Record
	pause := RetryMin
	for range j.wake {
		for group = j.writeGroup(group); len(group) > 0; group = j.writeGroup(group) {
			if !j.rest(pause) {
				break
			}
			pause = min(2*pause, RetryMax)
		}
		pause = RetryMin
	}
	j.writeGroup(group)
}

// rest waits before a failed group is tried again; it is false when the journal
// is closing. New records do not shorten the wait: they join the group.
func (j *Journal) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-j.closing:
		return false
	}
}

// writeGroup writes group, left over from a failure, and all that is pending.
// It returns what could not be written.
func (j *Journal) writeGroup(group []*Record) []*Record {
	j.mu.Lock()
	group = append(group, j.pending...)
	clear(j.pending)
	j.pending = j.pending[:0]
	j.behind.begin(len(group))
	j.mu.Unlock()
	if len(group) == 0 {
		return group
	}
	if err := j.write(group); err != nil {
		j.failed(err)
		return group
	}
	j.trouble.Store(nil)
	j.unsynced.Store(true)
	taken := 0
	for _, r := range group {
		taken += r.Size()
	}
	j.backlog.Add(-int64(taken))
	last := group[len(group)-1].Seq
	j.committed.Store(last)
	j.mu.Lock()
	j.behind.writing = 0
	j.mu.Unlock()
	if j.opts.Committed != nil {
		j.opts.Committed(last)
	}
	clear(group)
	return group[:0]
}

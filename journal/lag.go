package journal

import "time"

// Lag is what has been appended and is not committed.
type Lag struct {
	Records int
	Bytes   int64 // as Record.Size counts them
	// Since is when the oldest of them was appended; the zero time when there is none.
	Since time.Time
}

// behind knows how long records have waited. The journal's lock guards it.
type behind struct {
	writing int       // records of the group the store has, or has refused
	group   time.Time // when the oldest of these was appended
	pending time.Time // and of those that wait for the next group
}

// begin notes that everything pending has joined the group, which has n records now.
func (b *behind) begin(n int) {
	if b.writing == 0 {
		b.group = b.pending
	}
	b.writing = n
}

// Lag tells how far the store is behind.
func (j *Journal) Lag() Lag {
	j.mu.Lock()
	defer j.mu.Unlock()
	lag := Lag{Records: j.behind.writing + len(j.pending), Bytes: j.backlog.Load()}
	switch {
	case j.behind.writing > 0:
		lag.Since = j.behind.group
	case len(j.pending) > 0:
		lag.Since = j.behind.pending
	}
	return lag
}

// write gives the store a group and tells how it went.
func (j *Journal) write(group []*Record) error {
	began := time.Now()
	err := j.opts.Store.Write(group)
	if j.opts.Wrote != nil {
		j.opts.Wrote(len(group), time.Since(began))
	}
	return err
}

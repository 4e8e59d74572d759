package journal

import "sort"

// ring holds the newest records within two bounds. It is a slice whose dead
// head is cut off when it is as long as the rest.
type ring struct {
	maxRecords, maxBytes int

	records []*Record
	head    int // index of the oldest record held
	bytes   int
	dropped uint64 // number of the newest record that was dropped
}

func (r *ring) push(rec *Record) {
	r.records = append(r.records, rec)
	r.bytes += rec.Size()
	for len(r.records)-r.head > r.maxRecords || r.bytes > r.maxBytes && len(r.records)-r.head > 1 {
		old := r.records[r.head]
		r.records[r.head] = nil
		r.head++
		r.bytes -= old.Size()
		r.dropped = old.Seq
	}
	if r.head > len(r.records)/2 && r.head > 64 {
		n := copy(r.records, r.records[r.head:])
		clear(r.records[n:])
		r.records, r.head = r.records[:n], 0
	}
}

// above visits the records with a number above after, oldest first.
func (r *ring) above(after uint64, visit func(*Record)) {
	live := r.records[r.head:]
	from := sort.Search(len(live), func(i int) bool { return live[i].Seq > after })
	for _, rec := range live[from:] {
		visit(rec)
	}
}

// last returns the newest record that match accepts.
func (r *ring) last(match func(*Record) bool) *Record {
	for i := len(r.records) - 1; i >= r.head; i-- {
		if match(r.records[i]) {
			return r.records[i]
		}
	}
	return nil
}

package journal

import "sort"

// ring holds the newest actions within two bounds. It is a slice whose dead
// head is cut off when it is as long as the rest.
type ring struct {
	maxRecords, maxBytes int

	records []*Record
	head    int // index of the oldest record held
	bytes   int
	dropped uint64 // number of the newest record that was dropped
	// dispatched finds the records of clients by what they came from, so that a
	// flood of repetitions does not cost a search each.
	dispatched map[dispatch]*Record
}

// dispatch names one dispatch of a client.
type dispatch struct{ lineage, clientSeq uint64 }

func (r *ring) push(rec *Record) {
	r.records = append(r.records, rec)
	r.bytes += rec.Size()
	if rec.Origin.Lineage != 0 {
		if r.dispatched == nil {
			r.dispatched = make(map[dispatch]*Record)
		}
		r.dispatched[dispatch{rec.Origin.Lineage, rec.Origin.ClientSeq}] = rec
	}
	for r.len() > r.maxRecords || r.bytes > r.maxBytes && r.len() > 1 {
		r.drop()
	}
	if r.head > len(r.records)/2 && r.head > 64 {
		n := copy(r.records, r.records[r.head:])
		clear(r.records[n:])
		r.records, r.head = r.records[:n], 0
	}
}

func (r *ring) len() int { return len(r.records) - r.head }

// drop forgets the oldest record.
func (r *ring) drop() {
	old := r.records[r.head]
	r.records[r.head] = nil
	r.head++
	r.bytes -= old.Size()
	r.dropped = old.Seq
	key := dispatch{old.Origin.Lineage, old.Origin.ClientSeq}
	if r.dispatched[key] == old {
		delete(r.dispatched, key)
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

package flow

// Turns is a round of senders with something to send: each gets to send one
// frame, then waits until all others had theirs (AHP core, 12.4 "schedule
// fairly"). It holds only those that are ready, so idle ones and those with a
// full window cost nothing: the user takes the next, sends a frame of it, and
// lets it join again if it is still ready. The zero Turns is empty.
//
// It is bounded by the number of subscriptions, since none is in it twice.
type Turns[T comparable] struct {
	queue []T
	head  int // queue[:head] is used up
	in    map[T]struct{}
}

// Join puts t last, and reports whether that was new: one that waits keeps its
// place.
func (r *Turns[T]) Join(t T) bool {
	if _, ok := r.in[t]; ok {
		return false
	}
	if r.in == nil {
		r.in = make(map[T]struct{})
	}
	r.in[t] = struct{}{}
	if r.head*2 >= len(r.queue) && len(r.queue) == cap(r.queue) {
		r.shift()
	}
	r.queue = append(r.queue, t)
	return true
}

// Next takes out the one that waited longest.
func (r *Turns[T]) Next() (t T, ok bool) {
	if r.Len() == 0 {
		return t, false
	}
	var zero T
	t, r.queue[r.head] = r.queue[r.head], zero
	r.head++
	delete(r.in, t)
	return t, true
}

// Leave takes out t wherever it stands, as when its subscription ends.
func (r *Turns[T]) Leave(t T) {
	if _, ok := r.in[t]; !ok {
		return
	}
	delete(r.in, t)
	r.shift()
	for i, other := range r.queue {
		if other == t {
			copy(r.queue[i:], r.queue[i+1:])
			clear(r.queue[len(r.queue)-1:])
			r.queue = r.queue[:len(r.queue)-1]
			return
		}
	}
}

// Len returns how many wait.
func (r *Turns[T]) Len() int { return len(r.queue) - r.head }

// shift moves what waits to the front of the buffer.
func (r *Turns[T]) shift() {
	n := copy(r.queue, r.queue[r.head:])
	clear(r.queue[n:])
	r.queue, r.head = r.queue[:n], 0
}

package client

import "sync"

// tcpBuffer holds the bytes that came over a TCP channel until they are read. It holds
// no more than the window lets through, takes buffers only while it holds bytes,
// and remembers what each weighs in the window. The user holds a lock.
type tcpBuffer struct {
	chunks []*chunk
	bytes  int
	// moved is the weight of frames that were put together to a message and not
	// released, since the buffer was not empty: what has no weight has no bound.
	moved int64
}

// chunk is a buffer that fills at one end and is read at the other.
type chunk struct {
	buf    []byte
	r, w   int
	weight int64
}

const (
	smallChunk = 4 << 10
	// largeChunk takes what a frame of 256 KiB holds.
	largeChunk = 96 << 10
)

var (
	smallChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, smallChunk)} }}
	largeChunks = sync.Pool{New: func() any { return &chunk{buf: make([]byte, largeChunk)} }}
)

func takeChunk(bytes int) *chunk {
	switch {
	case bytes <= smallChunk:
		return smallChunks.Get().(*chunk)
	case bytes <= largeChunk:
		return largeChunks.Get().(*chunk)
	}
	return &chunk{buf: make([]byte, bytes)}
}

func giveChunk(c *chunk) {
	c.r, c.w, c.weight = 0, 0, 0
	switch len(c.buf) {
	case smallChunk:
		smallChunks.Put(c)
	case largeChunk:
		largeChunks.Put(c)
	}
}

// add decodes a tcp/data of that weight.
func (b *tcpBuffer) add(text []byte, weight int64) error {
	n := decodedBytes(text)
	if n <= 0 {
		return errBadData
	}
	room := (n + 2) / 3 * 3
	var c *chunk
	if last := len(b.chunks) - 1; last >= 0 && len(b.chunks[last].buf)-b.chunks[last].w >= room {
		c = b.chunks[last]
	} else {
		c = takeChunk(room)
		b.chunks = append(b.chunks, c)
	}
	if err := decodeBase64(c.buf[c.w:], text, n); err != nil {
		return err
	}
	c.w += n
	c.weight += weight
	b.bytes += n
	return nil
}

// read copies what there is, and returns the weight that has become free.
func (b *tcpBuffer) read(p []byte) (n int, freed int64) {
	for n < len(p) && len(b.chunks) > 0 {
		c := b.chunks[0]
		k := copy(p[n:], c.buf[c.r:c.w])
		n += k
		c.r += k
		b.bytes -= k
		if c.r == c.w {
			freed += c.weight
			b.pop()
			giveChunk(c)
		}
	}
	return n, freed + b.drained()
}

// take takes out the oldest chunk, which is the caller's from then on, with its
// weight; nil if there is none.
func (b *tcpBuffer) take() (c *chunk, freed int64) {
	if len(b.chunks) == 0 {
		return nil, 0
	}
	c = b.chunks[0]
	b.pop()
	b.bytes -= c.w - c.r
	return c, c.weight + b.drained()
}

func (b *tcpBuffer) pop() {
	n := copy(b.chunks, b.chunks[1:])
	b.chunks[n] = nil
	b.chunks = b.chunks[:n]
}

// drained frees the weight of frames once nothing stands before their bytes.
func (b *tcpBuffer) drained() (freed int64) {
	if b.bytes == 0 {
		freed, b.moved = b.moved, 0
	}
	return freed
}

// discard forgets everything.
func (b *tcpBuffer) discard() {
	for _, c := range b.chunks {
		giveChunk(c)
	}
	*b = tcpBuffer{}
}

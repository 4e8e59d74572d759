package tcp

import "sync"

// chunkBytes is the memory of a chunk: what fits a frame of 256 KiB, which is the
// largest we send, and no chunk of 64 KiB more than that.
const chunkBytes = 96 << 10

// chunk holds bytes on their way, data[r:w].
type chunk struct {
	data [chunkBytes]byte
	r, w int
	size int64 // towards a destination: what to release when it was written
}

var chunkPool = sync.Pool{New: func() any { return new(chunk) }}

func takeChunk() *chunk {
	c := chunkPool.Get().(*chunk)
	c.r, c.w, c.size = 0, 0, 0
	return c
}

func giveChunk(c *chunk) { chunkPool.Put(c) }

// maxChunks bounds what waits for the client: one is filled while the other is
// sent.
const maxChunks = 2

// parkedBytes is the buffer of a connection from which nothing comes. It takes
// any small message whole; after a read that filled it a chunk takes over.
const parkedBytes = 1 << 10

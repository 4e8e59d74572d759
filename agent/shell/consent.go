package shell

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
)

// maxConsents bounds what a session remembers; beyond it one is asked again.
const maxConsents = 1024

// consents are the commands allowed for the rest of a session. A command is
// remembered by its exact text, as it ran, and its directory: "rm -r build"
// allowed in one project says nothing about another. All chats of a session
// share them, and they are gone with the last open chat.
type consents struct {
	chats int // guarded by Provider.mu

	forgotten *atomic.Uint64

	mu      sync.Mutex
	allowed map[consentKey]struct{}
}

// consentKey is a hash, so that long commands cost no more than short ones.
type consentKey [sha256.Size]byte

func keyOf(dir, text string) consentKey {
	// No path holds a zero byte, so the pair cannot be read in two ways.
	return sha256.Sum256([]byte(dir + "\x00" + text))
}

func (c *consents) has(dir, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.allowed[keyOf(dir, text)]
	return ok
}

func (c *consents) remember(dir, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.allowed) >= maxConsents {
		c.forgotten.Add(1)
		return
	}
	if c.allowed == nil {
		c.allowed = make(map[consentKey]struct{})
	}
	c.allowed[keyOf(dir, text)] = struct{}{}
}

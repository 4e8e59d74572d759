package client

import (
	"crypto/rand"
	"fmt"

	"github.com/causeway-ahp/causeway/ahp"
)

// newID returns a random UUID (version 4).
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// NewSessionURI returns the URI of a session to be created.
func NewSessionURI() ahp.URI { return ahp.SessionPrefix + newID() }

// NewChatURI returns the URI of a chat to be created.
func NewChatURI() ahp.URI { return ahp.ChatPrefix + newID() }

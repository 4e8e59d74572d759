package jsonrpc

import (
	"encoding/binary"
	"sync/atomic"
)

// methods spares the copy of a method name that was seen before. It learns
// from traffic, because this package knows no names.
var methods internTable

const (
	internSlots    = 256
	maxInternBytes = 64
)

// internTable remembers one name a slot and forgets it for the next one that
// hashes there. A peer that invents names can therefore cost us allocations
// but no memory. It may be used by many goroutines.
type internTable struct {
	slots [internSlots]atomic.Pointer[string]
}

func (t *internTable) get(name []byte) string {
	if len(name) > maxInternBytes {
		return string(name)
	}
	slot := &t.slots[internHash(name)%internSlots]
	if known := slot.Load(); known != nil && *known == string(name) {
		return *known
	}
	fresh := string(name)
	slot.Store(&fresh)
	return fresh
}

// internHash mixes the length and both ends of name. Collisions cost time only.
func internHash(name []byte) uint64 {
	h := uint64(len(name))
	if len(name) >= 8 {
		h ^= binary.LittleEndian.Uint64(name) * 0x9E3779B97F4A7C15
		h ^= binary.LittleEndian.Uint64(name[len(name)-8:]) * 0xC2B2AE3D27D4EB4F
	} else {
		for _, b := range name {
			h = h*31 + uint64(b)
		}
		h *= 0x9E3779B97F4A7C15
	}
	return h >> 32
}

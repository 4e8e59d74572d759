package host

import (
	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
)

// SetNote keeps a private remark about a channel beyond the process: a feature's
// own, which no client sees. An empty one is taken away. It is false when the
// channel does not exist, and does nothing without an archive.
func (h *Host) SetNote(uri ahp.URI, name string, text []byte) bool {
	var st step
	h.seq.mu.Lock()
	defer h.endLocked(&st)
	if h.seq.channels[uri] == nil {
		return false
	}
	if h.archive != nil {
		st.records = append(st.records, &journal.Record{Seq: h.seq.seq, Kind: journal.Noted, Channel: uri, Note: name, Body: text})
	}
	return true
}

// Note returns a remark about a channel, nil for none. What SetNote was given is
// there once it is stored. One that cannot be read is logged and taken for none.
func (h *Host) Note(uri ahp.URI, name string) []byte {
	if h.archive == nil {
		return nil
	}
	text, err := h.archive.Note(uri, name)
	if err != nil {
		h.log.Error("note cannot be read", "channel", uri, "note", name, "err", err)
	}
	return text
}

package transfer

import (
	"fmt"
	"io"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/host"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// Format is the version of the file's form.
const Format = 1

// Kinds of line.
const (
	kindHeader = "causeway-session"
	kindState  = "session"
	kindChat   = "chat"
	kindTurn   = "turn"
	kindEnd    = "end"
)

// line is one line of a file. Which members it has depends on its kind.
type line struct {
	Kind      string         `json:"kind"`
	Format    int            `json:"format,omitzero"`    // header
	Session   ahp.URI        `json:"session,omitzero"`   // header
	CreatedAt string         `json:"createdAt,omitzero"` // header, chat
	Chat      ahp.URI        `json:"chat,omitzero"`      // chat, turn
	State     jsontext.Value `json:"state,omitzero"`     // session, chat
	Turn      jsontext.Value `json:"turn,omitzero"`
	Chats     int            `json:"chats,omitzero"` // end: how many there were
	Turns     int            `json:"turns,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// Source is a journal that is read.
type Source interface {
	Load(channel string) (*journal.Image, []*journal.Record, error)
}

// Channel is a channel of the session to export.
type Channel struct {
	URI       ahp.URI
	CreatedAt string
}

// Count is what a file holds.
type Count struct{ Chats, Turns int }

// Export writes a session and its chats.
func Export(w io.Writer, from Source, session Channel, chats []Channel) (Count, error) {
	x := exporter{w: w, from: from}
	x.put(&line{Kind: kindHeader, Format: Format, Session: session.URI, CreatedAt: session.CreatedAt})
	x.put(&line{Kind: kindState, State: x.encode(x.state(session.URI))})
	for _, c := range chats {
		x.chat(c)
	}
	x.put(&line{Kind: kindEnd, Chats: x.count.Chats, Turns: x.count.Turns})
	if x.err != nil {
		return x.count, fmt.Errorf("export %s: %w", session.URI, x.err)
	}
	return x.count, nil
}

// exporter writes until something fails.
type exporter struct {
	w     io.Writer
	from  Source
	count Count
	err   error
}

func (x *exporter) put(l *line) {
	raw := x.encode(l)
	if x.err == nil {
		_, x.err = x.w.Write(append(raw, '\n'))
	}
}

func (x *exporter) encode(v any) jsontext.Value {
	if x.err != nil {
		return nil
	}
	var raw jsontext.Value
	raw, x.err = ahp.Marshal(v)
	return raw
}

// state rebuilds the state of a channel.
func (x *exporter) state(uri ahp.URI) any {
	if x.err != nil {
		return nil
	}
	var state any
	state, x.err = host.ReadState(x.from, uri, reducer.Apply)
	return state
}

func (x *exporter) chat(c Channel) {
	s, ok := x.state(c.URI).(*ahp.ChatState)
	if !ok {
		return
	}
	bare := *s
	bare.Turns = ahp.NewList[*ahp.Turn]()
	x.put(&line{Kind: kindChat, Chat: c.URI, CreatedAt: c.CreatedAt, State: x.encode(&bare)})
	for _, t := range s.Turns.All() {
		x.put(&line{Kind: kindTurn, Chat: c.URI, Turn: x.encode(t)})
		x.count.Turns++
	}
	x.count.Chats++
}

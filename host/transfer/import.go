package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/causeway-ahp/causeway/ahp"
	"github.com/causeway-ahp/causeway/journal"
	"github.com/causeway-ahp/causeway/reducer"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrExists means that the journal has the session, or one of its chats, already.
var ErrExists = errors.New("exists already")

// maxLine bounds a line of a file, in bytes.
const maxLine = 1 << 30

// file is a session as it was read.
type file struct {
	header line
	state  jsontext.Value
	chats  []*chat
	byURI  map[ahp.URI]*chat
	count  Count
	ended  bool
}

type chat struct {
	line
	turns []jsontext.Value
}

// Import reads a file into a journal that no host has open. It returns the
// session's URI. Nothing is written unless the file is complete and right.
func Import(r io.Reader, to journal.Archive) (ahp.URI, Count, error) {
	f, err := read(r)
	if err != nil {
		return "", Count{}, fmt.Errorf("import: %w", err)
	}
	past, err := to.Recover(0, 0)
	if err != nil {
		return "", Count{}, err
	}
	if err := f.write(to, past.Seq); err != nil {
		return "", Count{}, fmt.Errorf("import %s: %w", f.header.Session, err)
	}
	return f.header.Session, f.count, nil
}

func read(r io.Reader) (*file, error) {
	f := &file{byURI: make(map[ahp.URI]*chat)}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		if len(in.Bytes()) == 0 {
			continue
		}
		var l line
		if err := ahp.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := f.take(&l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if !f.ended {
		return nil, errors.New("the file ends too early")
	}
	return f, nil
}

// take takes a line in its place.
func (f *file) take(l *line) error {
	if (f.header.Kind == "") != (l.Kind == kindHeader) || f.ended {
		return fmt.Errorf("a line of kind %q has no place here", l.Kind)
	}
	switch l.Kind {
	case kindHeader:
		if l.Format != Format || ahp.KindOf(l.Session) != ahp.KindSession {
			return fmt.Errorf("not a session in format %d", Format)
		}
		f.header = *l
	case kindState:
		f.state = l.State
		return decodes(ahp.KindSession, l.State)
	case kindChat:
		if ahp.KindOf(l.Chat) != ahp.KindChat || f.byURI[l.Chat] != nil {
			return fmt.Errorf("chat %q has no place here", l.Chat)
		}
		c := &chat{line: *l}
		f.chats, f.byURI[l.Chat] = append(f.chats, c), c
		f.count.Chats++
		return decodes(ahp.KindChat, l.State)
	case kindTurn:
		c := f.byURI[l.Chat]
		if c == nil {
			return fmt.Errorf("a turn of chat %q, which has not come", l.Chat)
		}
		c.turns = append(c.turns, l.Turn)
		f.count.Turns++
		return ahp.Unmarshal(l.Turn, new(ahp.Turn))
	case kindEnd:
		f.ended = true
		if f.state == nil || l.Chats != f.count.Chats || l.Turns != f.count.Turns {
			return fmt.Errorf("%d chats and %d turns came, not %d and %d", f.count.Chats, f.count.Turns, l.Chats, l.Turns)
		}
	}
	return nil
}

func decodes(kind ahp.Kind, raw jsontext.Value) error {
	_, err := reducer.Decode(kind, raw)
	return err
}

// write writes the chats and then, as the last, the session: without it they do
// not count.
func (f *file) write(to journal.Archive, seq uint64) error {
	for _, uri := range f.uris() {
		img, _, err := to.Load(uri)
		leftover := img != nil && img.Parent == f.header.Session // of an import that was cut short
		if !errors.Is(err, journal.ErrNoChannel) && !leftover {
			return errors.Join(fmt.Errorf("%s %w", uri, ErrExists), err)
		}
	}
	for _, c := range f.chats {
		if err := to.Write([]*journal.Record{f.created(c.Chat, f.header.Session, c.CreatedAt, c.State, seq)}); err != nil {
			return err
		}
		img := &journal.Image{Channel: c.Chat, Seq: seq, Born: seq, Head: c.State, Items: c.turns, Size: size(c)}
		if err := to.Save(img); err != nil {
			return err
		}
	}
	return to.Write([]*journal.Record{f.created(f.header.Session, "", f.header.CreatedAt, f.state, seq)})
}

// uris are the session and its chats.
func (f *file) uris() []ahp.URI {
	list := []ahp.URI{f.header.Session}
	for _, c := range f.chats {
		list = append(list, c.Chat)
	}
	return list
}

// created makes a channel. What is open in it ended with its host: the next one
// closes it.
func (f *file) created(uri, parent ahp.URI, at string, state jsontext.Value, seq uint64) *journal.Record {
	return &journal.Record{
		Seq: seq, Kind: journal.Created, Channel: uri, Body: state, Open: true,
		Birth: &journal.Birth{Parent: parent, CreatedAt: at},
	}
}

func size(c *chat) int {
	n := len(c.State)
	for _, t := range c.turns {
		n += len(t)
	}
	return n
}

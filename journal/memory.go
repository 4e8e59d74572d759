package journal

import (
	"cmp"
	"slices"
	"sync"
)

// Memory is an Archive that lives as long as the process: for hosts that need
// not survive it but are to release idle channels, and for tests. After Close,
// or without it as after a crash, Recover begins anew on what it has.
type Memory struct {
	mu       sync.Mutex
	block    uint64
	last     uint64
	reserved uint64
	lineage  uint64
	trimmed  uint64
	lost     []Range
	made     uint64
	channels map[string]*memoryChannel
	clients  map[string]Client
}

// memoryChannel is all there is of one channel.
type memoryChannel struct {
	nth     uint64 // in the order in which they were made
	entry   Entry
	image   Image
	actions []*Record
	notes   map[string][]byte
}

var _ Archive = (*Memory)(nil)

// NewMemory returns an empty archive that reserves numbers in blocks.
func NewMemory(block uint64) *Memory {
	return &Memory{block: block, channels: make(map[string]*memoryChannel), clients: make(map[string]Client)}
}

// Write implements Store.
func (m *Memory) Write(group []*Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range group {
		m.last = max(m.last, r.Seq)
		m.take(r)
	}
	m.reserved = max(m.reserved, Reserve(m.last, m.block))
	return nil
}

func (m *Memory) take(r *Record) {
	ch := m.channels[r.Channel]
	switch r.Kind {
	case Created:
		if r.Birth != nil {
			m.made++
			m.channels[r.Channel] = newMemoryChannel(r, m.made)
		}
	case Removed:
		delete(m.channels, r.Channel)
	case Action:
		if ch != nil {
			ch.actions = append(ch.actions, r)
			ch.entry.Last, ch.entry.Open = r.Seq, r.Open
		}
	case Joined:
		m.lineage = max(m.lineage, r.Origin.Lineage)
		m.clients[r.Origin.ClientID] = Client{ID: r.Origin.ClientID, Lineage: r.Origin.Lineage, Body: r.Body}
	case Forgotten:
		if m.clients[r.Origin.ClientID].Lineage == r.Origin.Lineage {
			delete(m.clients, r.Origin.ClientID)
		}
	case Noted:
		if ch != nil && len(r.Body) > 0 {
			ch.notes[r.Note] = r.Body
		} else if ch != nil {
			delete(ch.notes, r.Note)
		}
	}
	if r.Kind == Action || r.Kind == Mark {
		m.dispatched(r.Origin)
	}
}

func newMemoryChannel(r *Record, nth uint64) *memoryChannel {
	return &memoryChannel{
		nth: nth,
		entry: Entry{
			Channel: r.Channel, Parent: r.Birth.Parent, CreatedAt: r.Birth.CreatedAt,
			Born: r.Seq, Seq: r.Seq, Open: r.Open, Size: len(r.Body),
		},
		image: Image{Channel: r.Channel, Parent: r.Birth.Parent, Seq: r.Seq, Born: r.Seq, Head: r.Body, Size: len(r.Body)},
		notes: make(map[string][]byte),
	}
}

// dispatched raises the mark of the client a record came from.
func (m *Memory) dispatched(from Origin) {
	if c, ok := m.clients[from.ClientID]; ok && c.Lineage == from.Lineage {
		c.Seen, c.High = true, max(c.High, from.ClientSeq)
		m.clients[from.ClientID] = c
	}
}

// Sync implements Store.
func (m *Memory) Sync() error { return nil }

// Close implements Store: the end is an orderly one.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved = m.last
	return nil
}

// Recover implements Archive.
func (m *Memory) Recover(records, bytes int) (*Recovery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reserved > m.last {
		m.lost = append(m.lost, Range{First: m.last + 1, Last: m.reserved})
		m.last = m.reserved + 1
		m.reserved = Reserve(m.last, m.block)
	}
	r := &Recovery{Seq: m.last, Lost: slices.Clone(m.lost), Lineage: m.lineage, Oldest: m.trimmed}
	for _, c := range m.clients {
		r.Clients = append(r.Clients, c)
	}
	slices.SortFunc(r.Clients, func(a, b Client) int { return cmp.Compare(a.Lineage, b.Lineage) })
	var all []*Record
	for _, ch := range m.inOrder() {
		r.Channels = append(r.Channels, ch.entry)
		all = append(all, ch.actions...)
	}
	slices.SortFunc(all, func(a, b *Record) int { return cmp.Compare(a.Seq, b.Seq) })
	n, size := 0, 0
	for n < len(all) && n < records && size < bytes && all[len(all)-1-n].Seq > m.trimmed {
		n++
		size += all[len(all)-n].Size()
	}
	r.Newest = all[len(all)-n:]
	if n < len(all) {
		r.Oldest = max(r.Oldest, all[len(all)-1-n].Seq)
	}
	return r, nil
}

func (m *Memory) inOrder() []*memoryChannel {
	list := make([]*memoryChannel, 0, len(m.channels))
	for _, ch := range m.channels {
		list = append(list, ch)
	}
	slices.SortFunc(list, func(a, b *memoryChannel) int { return cmp.Compare(a.nth, b.nth) })
	return list
}

// Load implements Archive.
func (m *Memory) Load(channel string) (*Image, []*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := m.channels[channel]
	if ch == nil {
		return nil, nil, ErrNoChannel
	}
	img := ch.image
	img.Open, img.Items = ch.entry.Open, slices.Clone(img.Items)
	var tail []*Record
	for _, r := range ch.actions {
		if r.Seq > img.Seq {
			tail = append(tail, r)
		}
	}
	return &img, tail, nil
}

// Save implements Archive.
func (m *Memory) Save(img *Image) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := m.channels[img.Channel]
	if ch == nil || ch.entry.Born != img.Born {
		return nil
	}
	kept := ch.image.Items[:min(img.Keep, len(ch.image.Items))]
	ch.image = *img
	ch.image.Parent, ch.image.Keep = ch.entry.Parent, 0
	ch.image.Items = append(slices.Clone(kept), img.Items...)
	ch.entry.Seq, ch.entry.Size, ch.entry.Summary = img.Seq, img.Size, img.Summary
	return nil
}

// Note implements Archive.
func (m *Memory) Note(channel, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ch := m.channels[channel]; ch != nil {
		return ch.notes[name], nil
	}
	return nil, nil
}

// Trim implements Archive.
func (m *Memory) Trim(upTo uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trimmed = max(m.trimmed, upTo)
	for _, ch := range m.channels {
		ch.actions = slices.DeleteFunc(ch.actions, func(r *Record) bool { return r.Seq <= upTo && r.Seq <= ch.entry.Seq })
		if len(ch.actions) == 0 {
			ch.entry.Last = 0
		}
	}
	return nil
}

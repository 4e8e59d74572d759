package journal

import "github.com/go-json-experiment/json/jsontext"

// Archive is a store that a later process can start from. Its methods may be
// called concurrently, but Recover comes first and once.
type Archive interface {
	Store
	// Recover returns what the archive holds, with up to so many of the newest
	// actions of channels that still exist, and about so many bytes of them.
	Recover(records, bytes int) (*Recovery, error)
	// Load reads a channel. The error is ErrNoChannel when the archive has
	// none; any other one says that it could not be read, never that it is
	// empty.
	Load(channel string) (*Image, []*Record, error)
	// Save keeps the state of a channel as of a number, so that what came before
	// is no longer needed to rebuild it. It does nothing for a channel that has
	// ended meanwhile. What the image stands for must have been written.
	Save(img *Image) error
	// Note returns a private remark about a channel, nil for none.
	Note(channel, name string) ([]byte, error)
	// Trim gives up actions up to a number that no image needs.
	Trim(upTo uint64) error
}

// Reserve is up to where the numbers must be reserved, in blocks, once last was
// given out: at least half a block ahead.
func Reserve(last, block uint64) uint64 {
	if block == 0 {
		return last
	}
	return ((last+block/2)/block + 1) * block
}

// Image is the state of a channel as of a number. The items of a state that
// only grows, a chat's turns, stand apart, so that saving it again does not
// write all of them again.
type Image struct {
	Channel string
	Parent  string // set by Load
	Seq     uint64
	Born    uint64         // tells channels with one URI apart
	Head    jsontext.Value // the state without its items
	Items   []jsontext.Value
	Keep    int            // Save: so many of the items kept before stay, Items come behind them
	Summary jsontext.Value // what is known of the channel while it is not loaded; may be nil
	Open    bool           // as Record.Open
	Size    int            // of the whole state, about, in bytes
}

// Recovery is what an archive gives the next process.
type Recovery struct {
	// Seq is the number to go on from. It lies above every number that was ever
	// given out, also by a process that lost its last records to a loss of power.
	Seq uint64
	// Lost are the numbers that may have been shown to somebody and are not in
	// the archive.
	Lost []Range
	// Newest are actions in order, complete above Oldest.
	Newest  []*Record
	Oldest  uint64
	Lineage uint64 // the highest ever used
	// Channels are all of them, each after the one it belongs to.
	Channels []Entry
	Clients  []Client
}

// Range is the numbers from First to Last, both included.
type Range struct{ First, Last uint64 }

// Contains reports whether n is one of them.
func (r Range) Contains(n uint64) bool { return r.First <= n && n <= r.Last }

// Entry is a channel that is not loaded.
type Entry struct {
	Channel   string
	Parent    string
	CreatedAt string
	Born      uint64
	Seq       uint64 // of its image
	Last      uint64 // of its newest action that is kept, 0 for none
	Open      bool
	Size      int
	Summary   jsontext.Value
}

// Ahead reports whether the channel has actions that its image, and so its
// summary, does not know.
func (e *Entry) Ahead() bool { return e.Last > e.Seq }

// Client is a client that may return.
type Client struct {
	ID      string
	Lineage uint64
	Body    jsontext.Value // as in its Joined record
	Seen    bool           // High is set
	High    uint64         // the highest clientSeq it dispatched
}

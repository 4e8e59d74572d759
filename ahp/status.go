package ahp

// Status is the bitset a session and a chat carry. The lower five bits are the
// activity, the bits above are flags; bits this build does not know are kept
// (AHP channels, 1.4). Test it with Activity and Has, never by equality.
type Status uint64

// Activities and flags.
const (
	StatusIdle        Status = 1
	StatusError       Status = 2
	StatusInProgress  Status = 8
	StatusInputNeeded Status = 24 // contains StatusInProgress
	StatusIsRead      Status = 32
	StatusIsArchived  Status = 64

	statusActivityMask Status = 31
	statusInputBit     Status = 16
)

// Activity returns the activity bits alone.
func (s Status) Activity() Status { return s & statusActivityMask }

// WithActivity replaces the activity and keeps every other bit.
func (s Status) WithActivity(a Status) Status { return s&^statusActivityMask | a }

// Has reports whether all bits of f are set.
func (s Status) Has(f Status) bool { return s&f == f }

// With sets or clears the bits of f.
func (s Status) With(f Status, on bool) Status {
	if on {
		return s | f
	}
	return s &^ f
}

// WithoutInput clears only the bit that asks for input: InputNeeded becomes
// InProgress, any other activity stays (AHP channels, 4.1).
func (s Status) WithoutInput() Status { return s &^ statusInputBit }

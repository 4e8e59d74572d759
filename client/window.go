package client

import (
	"cmp"

	"github.com/causeway-ahp/causeway/flow"
)

// Window is what this client is ready to receive on a windowed subscription, in
// the measure of AHP core, 12.1: two bytes for each UTF-16 code unit of the
// messages as they are sent. The zero Window asks for the defaults.
type Window struct {
	// Bytes may be outstanding when the host starts another message. Zero: 4 MiB.
	Bytes int64
	// MaxFrameBytes bounds each message; what is larger comes in frames. At
	// least 1,024. Zero: 256 KiB.
	MaxFrameBytes int64
}

// Defaults of Window: a window of 4 MiB carries 1.5 MiB of bytes a round trip.
const (
	defaultWindowBytes = 4 << 20
	defaultFrameBytes  = 256 << 10
)

func (w Window) limits() flow.Limits {
	return flow.Limits{
		WindowBytes:   cmp.Or(w.Bytes, defaultWindowBytes),
		MaxFrameBytes: cmp.Or(w.MaxFrameBytes, defaultFrameBytes),
	}
}

// Package flow is the arithmetic of windowed delivery: what a message weighs,
// when the next one may start, what credit to give and to believe, and how a
// message too large for one frame is cut and joined (AHP core, 12).
//
// It stands beside the path of a byte, at both ends of a connection. The outbox
// asks Window whether a message may start and Fragmenter for its pieces; the
// reader gives what arrives to Credit and Reassembler, and sends the credits
// that Credit names:
//
//	message -> Fragmenter -> Window.Charge -> wire -> Credit.Receive -> Reassembler -> message
//	                         Window.Credit <- wire <- Credit.Take <- Credit.Release
//
// Everything weighs what Size says of its complete JSON text as sent: twice the
// number of UTF-16 code units, whatever the encoding on the carrier. Window,
// credit and frame limit are all in this measure, called bytes here as on the
// wire; only the ceiling of a Reassembler is in bytes of memory.
//
// Invariants, true after every call, whatever the peer sends:
//
//   - 0 <= outstanding < window + frame limit, at the sender as charged and at
//     the receiver as received and not yet credited.
//   - A credit ends exactly at a wire message the sender knows. The sender
//     refuses any other above the last one; the receiver never offers one, in
//     whatever order and portions its consumer releases.
//   - Once everything received was released, a credit for all of it is due: a
//     sender with a full window never waits for one that does not come.
//   - Each frame a Fragmenter appends weighs at most the frame limit, holds at
//     least one character and whole characters only; joined, the pieces are the
//     message.
//   - A call that returns an error changed nothing.
//
// Both ends remember where the outstanding wire messages end, one to three bytes
// each: at most a 64th of window + frame limit for messages of 64 bytes and more
// (no notification is smaller), and nothing while nothing is outstanding. So 68
// KiB at worst for a window of 4 MiB with frames of 256 KiB, and 51 bytes while
// it is filled with full frames.
//
// There is no goroutine, lock, clock or I/O here, no method name, and no
// knowledge of what is data and what is control: what is not data passes by
// without being charged. No value here may be used from several goroutines at
// once or copied after its first use. How many subscriptions may exist, and what
// their windows add up to, is for the caller to bound.
package flow

// Package stdio carries messages as lines, one UTF-8 text a line, usually
// between a host and the process that started it (AHP core, 1 "Transport": the
// binding is a proposal there, as no page defines one).
//
// It stands between two pipes and package jsonrpc, where transport/websocket
// stands between a socket and package jsonrpc.
//
// Invariants:
//
//   - A line ends with a line feed; a carriage return before it is dropped. A
//     last line without its line feed was cut and is an error, not a message.
//   - A message that holds a line feed, or ends in a carriage return, is refused
//     before anything of its batch is written: it would arrive as something else.
//   - A line costs memory as it comes in, up to the limit.
//
// The carrier has no close of its own: the code of a Close stays on this side,
// and the peer sees the end of the stream. Nor can it interrupt a reader or a
// writer that has no working Close, such as a terminal in blocking mode; Close
// then returns without them.
//
// Nothing else may be written to the same stream, such as logs.
package stdio

// Package jsonrpc is JSON-RPC 2.0 as two equal peers speak it over one
// connection: ids, messages, a validating envelope scanner and [Conn], which
// correlates calls, carries cancellation and dispatches in order.
//
// It stands between the carrier and the rules:
//
//	transport -> Conn.Receive -> Scan -> Handler   (notifications, requests)
//	                                  -> Pending   (responses to own calls)
//	transport <- Options.Send <- Call, Notify, replies
//
// Invariants:
//
//   - Every byte of an accepted message has been validated, so [Member],
//     [EachMember] and [StringValue] may trust it.
//   - Messages are handled in the order of their arrival. A response reaches
//     its caller only after every earlier notification has been handled.
//   - A request gets exactly one response. Its id comes back with its JSON type
//     and, for an integer, digit for digit.
//   - An id this side has used for a call is never used again on the connection.
//   - Nothing a peer sends can panic, grow a table without bound, or be
//     answered more than once.
//   - Close fails every pending call and returns after the last handler has.
//
// It does not read or write a carrier, queue messages, decide when to close,
// keep time for callers (their contexts do), bound the number of own calls
// (their callers do), or know a method name beyond [MethodCancel]. Batches are
// refused.
package jsonrpc

// Package simnet is a network of byte streams that exists only in memory and in
// time as package time tells it, so that a test inside a testing/synctest bubble
// has latency, lost peers and torn messages without sockets and without waiting.
//
// # Where it stands
//
// Below everything: whatever opens or accepts connections takes a dialer and a
// net.Listener, and a test hands it the ones of this package. Nothing in a
// production binary imports it.
//
// # What is simulated
//
// A [Network] has addresses one can [Network.Listen] on and [Network.Dial] to.
// All connections dialled from one name to one address share a [Link], and a
// link is where behaviour lives: latency, jitter, bandwidth, a bounded buffer,
// writes split into random pieces, refusal, silence, and a cut, at once or
// after an exact number of bytes. Everything may be changed while traffic runs.
//
// A stream behaves as TCP does on Linux where the difference can be seen:
//
//   - Data written before Close or CloseWrite arrives, and end of file after it.
//   - Close with data unread, or after SetLinger(0), ends the stream for the
//     peer with a reset instead; what was written before still arrives first.
//   - Data that reaches a closed end is lost, and a reset travels back.
//   - What has arrived stays readable after a reset; what was on the way is gone.
//   - A writer waits while the buffer (on the way plus unread) is full.
//
// # Invariants
//
//   - Bytes of one direction arrive in order, whatever the jitter.
//   - Sent = Delivered + Lost + InFlight in every [DirectionStats].
//   - Random choices are drawn per direction of a connection from the seed, the
//     two names and the ordinal of the connection on its link, so they do not
//     depend on how goroutines are scheduled.
//   - Whatever is due at an instant has arrived for every call made at that
//     instant: the order in which timers fire decides nothing.
//   - The package starts no goroutine. Timers call back; waiting is done on
//     condition variables, which a bubble counts as idle. One mutex guards all
//     state of a network and is never held across a wait.
//   - Without latency, bandwidth or a stall, bytes have arrived when Write
//     returns, so synctest.Wait really means that the world is quiet.
//
// # What it does not do
//
// No packets: nothing is lost, repeated or reordered inside a stream that lives.
// No name resolution and no datagrams. Acknowledgements are free: room in the
// buffer comes back at the moment the reader reads. Stop and go of a black hole
// costs no retransmission timeout: what waited arrives when the link resumes.
package simnet

// Package wiretrace plays conversations with a host that are written down as
// text files, one file for one rule of the specification.
//
// # Where it stands
//
// In tests only. A package that wants traces gives [Run] a folder and a [World],
// which holds a host and hands out raw connections to it. Each file becomes a
// subtest in its own testing/synctest bubble: the clock is virtual, and "nothing
// more was sent" is a fact instead of a guess.
//
// # The file
//
// A trace is a txtar file. It opens with prose: the rule, its place in the
// specification, what once broke. Then come steps, in order:
//
//	-- dial a --            client a connects; the name is free again when a's connection has ended
//	-- send a --            a sends the lines of the body, each a message, in one batch
//	-- wait 30s --          the clock moves on
//	-- close a 1000 bye --  a closes its connection; code (default 1000) and reason are optional
//	-- cut a --             a's connection breaks (the world must be a [Cutter])
//	-- do VERB ARG... --    the world does something of its own, with the body
//
// and behind each step what followed from it:
//
//	-- expect a --          a received exactly these messages, in this order, one a line
//	-- closed a 1008 why -- a's connection was ended by the host; code and reason are optional
//
// After a step the runner waits until every goroutine of the bubble is idle and
// looks at everything that every client received. A client without an expect
// section must have received nothing, and a connection without a closed section
// must be open, so silence is always asserted. A message that takes time (a
// latency, a timer) belongs behind the wait that lets it arrive. After close and
// cut the connection is forgotten: its end need not be expected, but messages
// that came before it must.
//
// In every body, empty lines and lines that begin with # are for the reader. What
// is sent is otherwise literal and need not be JSON.
//
// # Comparison
//
// Messages are compared as JSON values: order of members, space and the spelling
// of numbers and strings do not matter; an absent member differs from null.
//
// A placeholder stands for a value that the host chose. It takes the value it
// first meets and must meet the same again:
//
//	"$id"                   any value, called id from now on
//	"ahp-chat:/$chat"       the rest of this string, which is not empty
//	"${chat}s"              the same where a letter follows
//	"${seq:number}"         a number; also string, bool, object, array, uuid, time (RFC 3339)
//	"${seq+1}"              the number called seq, plus one
//	"$any"                  any value, every time
//	"$$x"                   the text $x
//
// Placeholders work in the names of members too. In what is sent, in closing
// reasons and in arguments and bodies of do they give the value back; "$seq"
// with its quotes becomes the bare value, so a number stays one. A $ before
// anything but a letter, an underscore, a brace or another $ is just a dollar,
// so "$/cancelRequest" needs no care.
//
// # Updating
//
// With -update the run rewrites what followed each step from what it saw. Lines
// that still match stay as they are; in others, parts that match keep their
// placeholders, and values that have a name by then are written as that name.
// Commit only what you can explain.
//
// # Invariants
//
//   - A trace that cannot be read, has no prose, or expects before its first
//     step fails; so does a folder without traces.
//   - A failed step ends the trace. Its report shows every client concerned.
//   - A client stops reading after [MaxMessagesPerStep] messages in one step,
//     and the step fails, so a host that never falls silent cannot eat memory.
//   - Every connection is closed and its reader has ended when Run is over;
//     clients close before the world's own cleanup runs.
//
// # What it does not do
//
// It knows no AHP and no JSON-RPC word, sends nothing of its own, and does not
// run steps at the same time: concurrency is the business of model tests. A send
// waits until the connection has taken it, so a host that never reads, behind a
// connection without a write deadline, ends in the bubble's report of a deadlock.
package wiretrace

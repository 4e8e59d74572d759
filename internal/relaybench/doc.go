// Package relaybench measures how messages travel from one end to another through
// a server in the middle: client services here, and whatever else is put behind
// [Ends] for comparison. Both ends and the server live in one process and talk over
// loopback sockets, so the processor time is that of all three.
package relaybench

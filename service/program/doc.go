// Package program makes a service of a program that reads and writes lines of
// JSON: it starts the program, keeps it running, gives it what the service
// receives and hands its answers back.
//
// A service of this client is a client.Handler, and [Program] is one:
//
//	host -> client.Registration -> Program -> one line on the program's input
//	     <-                     <-         <- one line of its output
//
// # The lines
//
// A call is the line
//
//	{"id":1,"method":"m","params":…,"sender":"client-id"}
//
// and a notification the same without id. Params are null if there were none; the
// sender's id was established by the host. An answer is one line of JSON:
//
//	{"id":1,"result":…}
//	{"id":1,"error":{"code":7,"message":"why","data":…}}
//
// with the answers in any order. A program need not know of ids: a line that is
// no such object is the result itself, or it is an object with result or error
// and no id; it then answers the oldest line that has no answer. Such a program
// answers every line it gets, notifications too, whose answers go nowhere. So
//
//	jq -c --unbuffered '.params | length'
//
// is a service, as long as jq never fails; with '{id, result: (.params | length)}' an
// input without a length costs nobody but its caller anything. What the program writes to its error output goes where the
// caller of New says; it is for people.
//
// Invariants:
//
//   - One program runs at a time, as a process group, and nothing of it is left
//     when Close returns.
//   - A program that ends is started again, with pauses that grow; calls that it had
//     not answered fail. One that keeps ending is given up, and Done tells.
//   - A call whose caller no longer waits keeps its place until its answer comes;
//     the answer is then dropped.
//   - What waits for the program is bounded by the client's bounds on calls and
//     notifications: the program's input is written while they wait.
//
// It does not interpret params or results, or limit what the program may do: it
// runs with the rights of the user.
package program

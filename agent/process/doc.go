// Package process runs the programs agents consist of and start: each one the
// leader of its own process group, which ends as a whole.
//
// On the path of a byte it stands below the agents: agent/shell runs commands
// with it, agent/acp runs agents, and the terminals those ask for.
//
// Invariants:
//
//   - A program is the leader of its own process group, and what this package
//     starts has ended only when the group has: what it left in the background
//     is ended with it.
//   - With a ledger a group is on the disk before its program runs, and off it
//     when all of it is gone. The next process ends what is still noted.
//   - Reading never waits for whoever looks at the output, and what is kept of
//     it is bounded.
//   - A goroutine of this package ends with its program at the latest, plus the
//     patience stated at its constants.
//
// It is no sandbox: a process that leaves its group (setsid) outlives it.
package process

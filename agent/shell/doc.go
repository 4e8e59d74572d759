// Package shell is the embedded agent whose messages are commands: every line
// runs in the session's working directory and is one tool call that all
// connected clients see proposed, approved, running and finished.
//
// On the path of a byte it stands where any agent does, behind agent.Session:
// the session feature prompts it after a turn is committed and turns what it
// emits into actions. What it needs of the world is sh, and git for the few Git
// commands that may run unasked.
//
// Invariants:
//
//   - Nothing runs unasked unless it is read-only by the allow-list of
//     readonly.go, or its exact text was allowed for this session before, in the
//     same directory.
//   - A command that runs unasked is executed as words, never by a shell, sees
//     only paths inside the session's directories, and cannot make Git start
//     another program.
//   - A command is the leader of its own process group, and its call ends only
//     after the group has: what it left in the background is ended with it.
//   - At most [MaxOutputBytes] are read from a command and the last
//     [KeptBytes] kept. A host that is behind delays what is published, never
//     what is read.
//   - A command that fails is a failed tool result, not a failed turn. The exit
//     status is in the result's structuredContent.
//
// It is no sandbox. Who may answer a confirmation may do what the host's user
// may do, and a process that leaves its group (setsid) outlives its call. The
// paths of a read-only command are checked before it starts; whoever can swap a
// symbolic link in between runs code on the machine already.
package shell

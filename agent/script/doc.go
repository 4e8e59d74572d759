// Package script is an agent that replays ACP transcripts, and what records them
// from other agents: authors of clients test against it without a key, a network
// or a model, and people send a transcript along with a bug.
//
// On the path of a byte it stands where the process of an agent does, on the far
// side of agent/acp: what it says passes through the same adapter as what a real
// agent says.
//
//	agent/acp <- pipe or stdio -> Player <- transcript
//	client    <- stdio -> Record -> transcript, and the real agent
//
// Invariants:
//
//   - Ids and session ids are those of the conversation at hand, never those of
//     the recording.
//   - Where the recording has an answer of the client, the replay waits for one.
//   - A cancel ends the turn with "cancelled", unless the script says that it is
//     ignored.
//   - A recording holds what was said and nothing of the environment.
//
// A transcript is a file of lines, each a JSON object; see [Transcript].
package script

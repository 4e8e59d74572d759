// Package reducer holds the pure functions that turn a channel's state and an
// action into the channel's next state.
//
// It stands in the middle of the path of a byte: the sequencer of the host calls
// it once for each action it has ordered, the client calls it for each envelope
// it receives and again for the actions it has sent ahead. Both must come to the
// same state, so nothing here depends on a clock, a random number or the order
// of a map.
//
// Invariants:
//
//   - The given state is never modified. What did not change is shared with the
//     new state, and states may be read by any number of goroutines.
//   - An action that changes nothing returns the identical pointer, so "did it
//     change?" is a comparison of pointers (AHP channels, 4.37). A chat whose
//     summary members did not change keeps its ChatHeader pointer too.
//   - No action and no decoded state can cause a panic.
//   - The cost of a streamed delta depends neither on the number of turns and
//     parts nor on the length of the text. Tool-call actions may look at each
//     part of the active turn, and at no finished turn.
//
// The form reduced is the canonical one, protocol 1.1; older peers are converted
// at the edge of the host. The package checks no permission and no precondition
// but those the protocol gives to reducers (AHP channels, 4.34), runs no effect
// and emits no mirror of a change on another channel (4.36).
package reducer

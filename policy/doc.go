// Package policy reads the file that says what each principal of a host may do,
// and answers the questions of the host and its features from it.
//
// It stands beside the path of a byte: host.Policy, the policy of package
// feature/service and the destinations of package feature/tcp ask it on every
// message. So a [File] answers from memory, without a lock; it is read again when
// it changes, and those who keep what they were told are called back.
//
// Invariants:
//
//   - What the file does not mention is as without it: a principal may do
//     everything with the sessions of the host and with its own services, and
//     nothing with the services of others.
//   - A file that cannot be read or understood changes nothing. At the start it is
//     an error, later a warning.
//   - What a client writes about itself, the metadata of its services above all,
//     narrows what the file allows and never widens it (AHP core, 15.3, R22).
//   - Unknown keys are errors: a misspelled restriction must not be none.
//
// It does not authenticate anybody, keep tokens, or log what it is asked.
package policy

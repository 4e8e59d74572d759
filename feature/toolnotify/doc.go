// Package toolnotify is the surface of tool-call notifications in the Agent Host
// Protocol: a client says, for a session or a chat, which webhook is to be told how
// its tool calls end, and may then leave.
//
// It stands behind the sequencer and in front of package notify:
//
//	x-toolNotifications/configure -> host -> Feature -> notify.Engine.Install
//	committed chat/toolCall* actions -> Feature -> notify.Engine.Fire
//
// Invariants:
//
//   - Only confirmed actions are told of: the host calls after the commit. What was
//     rejected, or is only optimistic at some client, fires nothing.
//   - The log of actions is the outbox. The engine keeps the number of the action
//     with what it caused, so after a crash the feature goes on behind it: nothing is
//     lost and nothing fires twice.
//   - A tool call ends once, whatever leads there: its result, a refusal, the end of
//     its turn.
//   - Who configures may see the channel, and is asked again at each firing.
//
// It does not decide which webhooks are allowed, sign, retry or deliver: notify does.
// It has no inbox and no signals yet.
package toolnotify

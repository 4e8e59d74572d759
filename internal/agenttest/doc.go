// Package agenttest is the table that every agent has to pass, whatever it is: an
// embedded one, a replay, a child process that speaks ACP.
//
// A [Subject] says how to make the provider and which message provokes each case.
// [Run] plays the cases and audits what the agent tells its host by the contract
// of package agent: a call is started once, runs, and ends once; nothing of a turn
// comes after its end; every question ends.
package agenttest

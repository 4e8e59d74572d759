// Command causeway runs and uses hosts of agent sessions that speak the Agent
// Host Protocol.
//
// It is the only place that knows every package: here transports, host,
// features and agents are joined. One file holds one command; what several
// share is
//
//	root.go   the command tree and its help
//	exit.go   from errors to exit codes
//	url.go    which host a client command talks to
//	local.go  finding the local host, or starting one in the background
//
// Results go to stdout, everything else to stderr.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

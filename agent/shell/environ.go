package shell

import "strings"

// privatePrefix begins the names of the host's own variables, which may hold
// tokens.
const privatePrefix = "CAUSEWAY_"

// plainOutput makes programs write bytes without colour, cursor movement or a
// pager.
var plainOutput = []string{"PAGER=cat", "GIT_PAGER=cat", "TERM=dumb", "NO_COLOR=1"}

// commandEnv is the environment of a command: what is inherited without the
// host's own, and plainOutput. Of two settings of one name the later counts.
func commandEnv(inherited []string) []string {
	env := make([]string, 0, len(inherited)+len(plainOutput))
	for _, kv := range inherited {
		if !strings.HasPrefix(kv, privatePrefix) {
			env = append(env, kv)
		}
	}
	return append(env, plainOutput...)
}

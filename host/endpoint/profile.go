package endpoint

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"

	"github.com/causeway-ahp/causeway/host"
)

const profilePath = "/debug/pprof/"

// reasonProfile is why a profile was refused, as it stands in the metrics.
const reasonProfile = "profile"

// profile serves what net/http/pprof does, but for the command line, which may hold
// secrets. A profile is the owner's alone, and never leaves the machine: it tells how
// the process is built and what it is doing.
func (e *Endpoint) profile(w http.ResponseWriter, r *http.Request, p host.Principal) {
	if p != host.Local || !fromHere(r) {
		e.refuse(w, r, &refusal{
			reason: reasonProfile, name: "principal", value: string(p),
			text: "profiles are served to the owner, on this machine only; forward a port of it to reach them from elsewhere",
		})
		return
	}
	switch name := strings.TrimPrefix(r.URL.Path, profilePath); name {
	case "":
		pprof.Index(w, r)
	case "profile":
		pprof.Profile(w, r)
	case "trace":
		pprof.Trace(w, r)
	case "cmdline", "symbol":
		http.Error(w, "not found", http.StatusNotFound)
	default:
		pprof.Handler(name).ServeHTTP(w, r)
	}
}

// fromHere reports whether a request comes from this machine, by the connection and not
// by what the request says.
func fromHere(r *http.Request) bool {
	if local := localAddr(r.Context()); local != nil && local.Network() == "unix" {
		return true
	}
	name, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

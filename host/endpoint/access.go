package endpoint

import (
	"context"
	"net"
	"net/http"

	"github.com/causeway-ahp/causeway/host"
)

// Reasons of a refusal, as they stand in the metrics.
const (
	reasonHost        = "host"
	reasonOrigin      = "origin"
	reasonToken       = "token"
	reasonCertificate = "certificate"
)

// refusal is why a request may not come in. name and value go to the log, text
// to the peer.
type refusal struct {
	reason, text, name, value string
}

// access holds the rules of the package comment.
type access struct {
	tokens  func() []Token
	origins map[string]bool
	hosts   []hostPattern
}

func newAccess(o Options) (access, error) {
	a := access{tokens: o.Tokens, origins: make(map[string]bool)}
	for _, s := range o.AllowOrigins {
		origin, err := canonicalOrigin(s)
		if err != nil {
			return access{}, err
		}
		a.origins[origin] = true
	}
	for _, s := range o.AllowHosts {
		h, err := parseHostPattern(s)
		if err != nil {
			return access{}, err
		}
		a.hosts = append(a.hosts, h)
	}
	return a, nil
}

// admit decides about a request and returns whose it is.
func (a *access) admit(r *http.Request) (host.Principal, *refusal) {
	local := localAddr(r.Context())
	unix := local != nil && local.Network() == "unix"
	if !unix && !a.hostAllowed(r.Host, local) {
		return "", &refusal{
			reason: reasonHost, name: "host", value: r.Host,
			text: "the host does not answer to this name; it can be added with --allow-host",
		}
	}
	if origin, ok := a.originAllowed(r, local); !ok {
		return "", &refusal{
			reason: reasonOrigin, name: "origin", value: origin,
			text: "pages of this origin may not connect; it can be added with --allow-origin",
		}
	}
	return a.authenticate(r, unix)
}

// localAddr is the address the request's connection arrived at.
func localAddr(ctx context.Context) net.Addr {
	addr, _ := ctx.Value(http.LocalAddrContextKey).(net.Addr)
	return addr
}

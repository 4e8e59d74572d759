package endpoint

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/causeway-ahp/causeway/host"
)

// Token lets in whoever presents it, as a principal. Only its digest is kept.
type Token struct {
	Hash      [sha256.Size]byte
	Principal host.Principal
}

// NewToken returns the token as it is compared.
func NewToken(token string, p host.Principal) Token {
	return Token{Hash: sha256.Sum256([]byte(token)), Principal: p}
}

// authenticate finds out whose a request is. A token decides when there is one:
// who presents one means it, and a wrong one is a mistake worth reporting.
func (a *access) authenticate(r *http.Request, unix bool) (host.Principal, *refusal) {
	token, several := presented(r)
	switch {
	case several:
		return "", tokenRefusal("the request carries several different tokens", "several")
	case token != "" && a.tokens != nil:
		if p, ok := match(token, a.tokens()); ok {
			return p, nil
		}
		return "", tokenRefusal("the token is not valid here", "wrong")
	case unix:
		return host.Local, nil
	}
	if p, refused := certified(r); p != "" || refused != nil {
		return p, refused
	}
	if a.tokens == nil {
		return host.Local, nil
	}
	return "", tokenRefusal("a token is needed: ?tkn=TOKEN or Authorization: Bearer TOKEN", "missing")
}

func tokenRefusal(text, what string) *refusal {
	return &refusal{reason: reasonToken, text: text, name: "token", value: what}
}

// presented returns the token of a request, "" if there is none. Two that differ
// are reported: it would be unclear which one decides.
func presented(r *http.Request) (token string, several bool) {
	query := r.URL.Query()
	all := append(query["tkn"], query["token"]...)
	for _, value := range r.Header.Values("Authorization") {
		if scheme, rest, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "Bearer") {
			all = append(all, strings.TrimSpace(rest))
		}
	}
	for _, t := range all {
		switch {
		case t == "" || t == token:
		case token == "":
			token = t
		default:
			return "", true
		}
	}
	return token, false
}

// match finds the token among the valid ones. All are looked at, and how much of
// a digest agrees does not show in the time it takes.
func match(token string, valid []Token) (p host.Principal, ok bool) {
	sum := sha256.Sum256([]byte(token))
	for i := range valid {
		if subtle.ConstantTimeCompare(sum[:], valid[i].Hash[:]) == 1 {
			p, ok = valid[i].Principal, true
		}
	}
	return p, ok
}

// maxCommonName bounds the principal a certificate can name.
const maxCommonName = 64

// certified returns the common name of a verified client certificate, "" if
// there is none. The name of the owner cannot be had that way: whoever signs
// certificates for clients need not be the owner.
func certified(r *http.Request) (host.Principal, *refusal) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return "", nil
	}
	name := r.TLS.VerifiedChains[0][0].Subject.CommonName
	if name == "" || len(name) > maxCommonName || strings.EqualFold(name, string(host.Local)) ||
		strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", &refusal{
			reason: reasonCertificate, name: "common name", value: name,
			text: "the common name of the client certificate cannot be a principal",
		}
	}
	return host.Principal(name), nil
}

package main

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// secretNames are members whose value is a secret, in lower case and without
// hyphens and underscores; so are names that end in one of secretEnds.
var (
	secretNames = map[string]bool{
		"tkn": true, "authorization": true, "proxyauthorization": true, "cookie": true, "setcookie": true,
		"credential": true, "credentials": true, "privatekey": true, "passphrase": true,
	}
	secretEnds = []string{"token", "secret", "password", "apikey"}
	joints     = strings.NewReplacer("-", "", "_", "")
)

// secretText finds secrets inside of a text: a token in a URL, a bearer token.
var secretText = regexp.MustCompile(`(?i)([?&](?:tkn|token)=|\bbearer\s+)[^\s&"'#]+`)

func isSecret(name string) bool {
	name = joints.Replace(strings.ToLower(name))
	if secretNames[name] {
		return true
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// lenient takes what peers send: the log must show it as it was.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// errNoValue means that a message is anything but one JSON value.
var errNoValue = errors.New("not one JSON value")

// redact returns a JSON text without the secrets it is known to hold: members by
// their name, pairs of name and value (as headers and environment variables are
// sent), and texts that show a token. It takes linear time.
func redact(msg []byte) (jsontext.Value, error) {
	if !jsontext.Value(msg).IsValid(lenient) {
		return nil, errNoValue
	}
	pairs, err := secretPairs(msg)
	if err != nil {
		return nil, err
	}
	r := redactor{dec: newDecoder(msg), pairs: pairs}
	r.enc = jsontext.NewEncoder(&r.out, lenient)
	for {
		if err := r.step(); errors.Is(err, io.EOF) {
			return bytes.TrimSpace(r.out.Bytes()), nil
		} else if err != nil {
			return nil, err
		}
	}
}

func newDecoder(msg []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(msg), lenient)
}

// secretPairs finds the objects that name a secret in a member "name". They are
// known by their ordinal in the text.
func secretPairs(msg []byte) (map[int]bool, error) {
	found := make(map[int]bool)
	dec := newDecoder(msg)
	var at place
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		at.pass(tok.Kind())
		if !isMemberName(dec) || tok.String() != "name" {
			continue
		}
		if dec.PeekKind() != '"' {
			continue
		}
		if tok, err = dec.ReadToken(); err != nil {
			return nil, err
		}
		if isSecret(tok.String()) {
			found[at.object()] = true
		}
	}
}

// place numbers the objects of a text and knows the innermost open one.
type place struct {
	open []int // ordinals of the open objects and arrays, -1 for arrays
	last int
}

func (p *place) pass(k jsontext.Kind) {
	switch k {
	case '{':
		p.last++
		p.open = append(p.open, p.last)
	case '[':
		p.open = append(p.open, -1)
	case '}', ']':
		p.open = p.open[:len(p.open)-1]
	}
}

func (p *place) object() int { return p.open[len(p.open)-1] }

// isMemberName reports whether the token just read was the name of a member.
func isMemberName(dec *jsontext.Decoder) bool {
	if dec.StackDepth() == 0 {
		return false
	}
	kind, length := dec.StackIndex(dec.StackDepth())
	return kind == '{' && length%2 == 1
}

// redactor copies a text.
type redactor struct {
	dec   *jsontext.Decoder
	enc   *jsontext.Encoder
	out   bytes.Buffer
	pairs map[int]bool
	at    place
}

// step copies one token, or a member's name with its value if that is a secret.
func (r *redactor) step() error {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	r.at.pass(tok.Kind())
	if isMemberName(r.dec) {
		name := tok.String()
		if err := r.enc.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if isSecret(name) || name == "value" && r.pairs[r.at.object()] {
			return r.replace()
		}
		return nil
	}
	if tok.Kind() == '"' {
		return r.enc.WriteToken(jsontext.String(secretText.ReplaceAllString(tok.String(), "${1}"+redacted)))
	}
	return r.enc.WriteToken(tok)
}

// replace reads the whole next value and writes that there was one. Objects in
// it count all the same.
func (r *redactor) replace() error {
	depth := len(r.at.open)
	for {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		r.at.pass(tok.Kind())
		if len(r.at.open) == depth {
			return r.enc.WriteToken(jsontext.String(redacted))
		}
	}
}

package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/causeway-ahp/causeway/notify"
)

// Prefixes of serialised keys (Standard Webhooks, 1.0).
const (
	symmetricPrefix = "whsec_"
	privatePrefix   = "whsk_"
	publicPrefix    = "whpk_"
)

var errKey = errors.New("not a signing key")

// symmetric is the key in a whsec_ text: 24 to 64 bytes.
func symmetric(s notify.Secret) ([]byte, error) {
	text, ok := strings.CutPrefix(s.Reveal(), symmetricPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errKey
	}
	return key, nil
}

// NewKey makes a key to sign with.
func NewKey() notify.Secret {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return notify.NewSecret(symmetricPrefix + base64.StdEncoding.EncodeToString(b[:]))
}

// signed is what a signature covers.
func signed(id string, unix int64, body []byte) []byte {
	content := make([]byte, 0, len(id)+len(body)+24)
	content = append(content, id...)
	content = append(content, '.')
	content = strconv.AppendInt(content, unix, 10)
	content = append(content, '.')
	return append(content, body...)
}

// signature is the value of webhook-signature: one part a key.
func signature(id string, unix int64, body []byte, keys []notify.Secret, server ed25519.PrivateKey) (string, error) {
	content := signed(id, unix, body)
	var parts []string
	for _, s := range keys {
		key, err := symmetric(s)
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(content)
		parts = append(parts, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if server != nil {
		parts = append(parts, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(server, content)))
	}
	return strings.Join(parts, " "), nil
}

// ServerKey is a key of the operator's that signs beside those of endpoints, so
// that a receiver needs no secret.
type ServerKey struct{ private ed25519.PrivateKey }

// ParseServerKey reads a whsk_ text.
func ParseServerKey(s notify.Secret) (ServerKey, error) {
	text, ok := strings.CutPrefix(s.Reveal(), privatePrefix)
	raw, err := base64.StdEncoding.DecodeString(text)
	switch {
	case !ok || err != nil:
		return ServerKey{}, errKey
	case len(raw) == ed25519.SeedSize:
		return ServerKey{ed25519.NewKeyFromSeed(raw)}, nil
	case len(raw) == ed25519.PrivateKeySize:
		return ServerKey{ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])}, nil
	}
	return ServerKey{}, errKey
}

// Public is the key's other half, as receivers are told it.
func (k ServerKey) Public() string {
	return publicPrefix + base64.StdEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
}

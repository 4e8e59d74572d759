package notify

import (
	"crypto/rand"
	"encoding/base32"
)

// Prefixes of identifiers.
const (
	callPrefix     = "tc_"
	deliveryPrefix = "ntf_"
	installPrefix  = "nc_"
	ownerPrefix    = "own_"
	secretPrefix   = "sec_"
)

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newID returns the prefix and 26 characters of base32, 130 random bits.
func newID(prefix string) string {
	var b [17]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return prefix + base32Lower.EncodeToString(b[:])[:26]
}

package provider

import (
	"crypto/sha256"
	"encoding/hex"
)

// FitID gives a tool call's id as an API takes it: what does not fit, since another
// provider has made it, becomes one of 37 letters, digits and underscores, for
// the call and its result the same.
func FitID(id string, fits func(string) bool) string {
	if fits(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

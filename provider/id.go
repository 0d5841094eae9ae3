package provider

import (
	"crypto/sha256"
	"encoding/hex"
)

// FitID returns a tool call's id as an API accepts it: an id that does not fit, since another provider made
// it, becomes one of 37 letters, digits and underscores, the same for the call and its result.
func FitID(id string, fits func(string) bool) string {
	if fits(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

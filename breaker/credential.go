package breaker

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// seed is of this process: a hash made with it means nothing elsewhere.
var seed = maphash.MakeSeed()

// credentialHeaders are the headers in which the APIs take credentials.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// Credential returns a name for the credentials of a request, for a Scope: the
// same for the same credentials. It does not reveal them.
func Credential(h http.Header, u *url.URL) string {
	var hash maphash.Hash
	hash.SetSeed(seed)
	for _, name := range credentialHeaders {
		for _, value := range h[name] {
			_, _ = hash.WriteString(lasting(value)) // it never fails
		}
		_ = hash.WriteByte(0)
	}
	_, _ = hash.WriteString(queryKey(u))
	return strconv.FormatUint(hash.Sum64(), 36)
}

// CommonCredential is [Credential] with a name that is the same in all processes, for breakers that are joined.
func CommonCredential(h http.Header, u *url.URL) string {
	text := make([]byte, 0, 512) // on the stack, as a rule
	text = append(text, "ridethrough credential\x00"...)
	for _, name := range credentialHeaders {
		for _, value := range h[name] {
			text = append(text, lasting(value)...)
		}
		text = append(text, 0)
	}
	sum := sha256.Sum256(append(text, queryKey(u)...))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:]), 36)
}

// lasting returns the part of a header's value that is the same in all requests with a credential.
func lasting(value string) string {
	if strings.HasPrefix(value, "AWS4-") {
		value, _, _ = strings.Cut(value, "/") // behind the key's id, each signature differs
	}
	return value
}

// queryKey returns the key in a URL, where Gemini's clients put it, or "".
func queryKey(u *url.URL) string {
	if strings.Contains(u.RawQuery, "key=") || strings.Contains(u.RawQuery, "%") {
		return u.Query().Get("key")
	}
	return ""
}

package breaker

import (
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
			if strings.HasPrefix(value, "AWS4-") {
				value, _, _ = strings.Cut(value, "/") // behind the key's id, each signature differs
			}
			_, _ = hash.WriteString(value) // it never fails
		}
		_ = hash.WriteByte(0)
	}
	if strings.Contains(u.RawQuery, "key=") || strings.Contains(u.RawQuery, "%") { // Gemini's clients
		_, _ = hash.WriteString(u.Query().Get("key"))
	}
	return strconv.FormatUint(hash.Sum64(), 36)
}

package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	tokenHeader   = "X-Ridethrough-Token"
	authorization = "Authorization"
)

// keyHeaders are where clients put an API's credential. Many can set nothing
// else, so the token may stand there.
var keyHeaders = []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// admit tells whether a request brings the token, and takes the token out of
// it wherever it stands: it never reaches a provider.
func (s *Server) admit(r *http.Request) bool {
	h := r.Header
	given := h[tokenHeader]
	delete(h, tokenHeader)
	if s.config.Token == "" {
		return true
	}
	ok := false
	for _, v := range given {
		ok = s.isToken(v) || ok
	}
	for _, name := range keyHeaders {
		if s.holdsToken(h[name]) {
			delete(h, name)
			ok = true
		}
	}
	if s.bearsToken(h[authorization]) {
		delete(h, authorization)
		ok = true
	}
	return s.stripQuery(r) || ok
}

// isToken compares in a time that tells nothing about how much is right.
func (s *Server) isToken(v string) bool {
	sum := sha256.Sum256([]byte(strings.TrimSpace(v)))
	return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// holdsToken tells whether one of a header's values is the token.
func (s *Server) holdsToken(values []string) bool {
	found := false
	for _, v := range values {
		found = s.isToken(v) || found
	}
	return found
}

// bearsToken tells whether one of the values is "Bearer" and the token.
func (s *Server) bearsToken(values []string) bool {
	found := false
	for _, v := range values {
		scheme, token, _ := strings.Cut(strings.TrimSpace(v), " ")
		found = strings.EqualFold(scheme, "Bearer") && s.isToken(token) || found
	}
	return found
}

// stripQuery takes ?key= out of the request's query where it is the token. The
// rest stays as it is, byte for byte.
func (s *Server) stripQuery(r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return false
	}
	var rest []string
	found := false
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name) // what cannot be read is "" and no key
		value, _ = url.QueryUnescape(value)
		if name == "key" && s.isToken(value) {
			found = true
			continue
		}
		rest = append(rest, pair)
	}
	if found {
		r.URL.RawQuery = strings.Join(rest, "&")
		r.RequestURI = r.URL.RequestURI()
	}
	return found
}

// strange answers a request that does not bring the token.
func (s *Server) strange(w http.ResponseWriter, r *http.Request) {
	if say, before := s.strangers.count(time.Now()); say {
		s.config.Log.Warn("request without the token", "from", r.RemoteAddr, "method", clip(r.Method), "path", clip(r.URL.Path), "unlogged", before)
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="ridethrough"`)
	reject(w, r, http.StatusUnauthorized, "it asks for its token, as the header %s or in place of the API key", tokenHeader)
}

// strangers counts the requests without the token. Whoever tries many must not
// fill the log: there is one line a second, with how many came before it that
// have none.
type strangers struct {
	mu   sync.Mutex
	last time.Time
	left int
}

// count tells whether a request has a line, and how many before it had none.
func (s *strangers) count(now time.Time) (say bool, before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last) < time.Second {
		s.left++
		return false, 0
	}
	before, s.left, s.last = s.left, 0, now
	return true, before
}

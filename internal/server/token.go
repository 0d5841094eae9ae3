package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

const (
	tokenHeader   = "X-Ridethrough-Token"
	authorization = "Authorization"
)

// keyHeaders are the headers in which clients send an API's credential. Many can set no other, so the token
// may stand there.
var keyHeaders = []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// admit reports whether a request has the token, and removes the token from it: it never reaches a provider.
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

// isToken compares in constant time.
func (s *Server) isToken(v string) bool {
	sum := sha256.Sum256([]byte(strings.TrimSpace(v)))
	return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// holdsToken reports whether one of a header's values is the token.
func (s *Server) holdsToken(values []string) bool {
	found := false
	for _, v := range values {
		found = s.isToken(v) || found
	}
	return found
}

// bearsToken reports whether one of a header's values is "Bearer" and the token.
func (s *Server) bearsToken(values []string) bool {
	found := false
	for _, v := range values {
		scheme, token, _ := strings.Cut(strings.TrimSpace(v), " ")
		found = strings.EqualFold(scheme, "Bearer") && s.isToken(token) || found
	}
	return found
}

// stripQuery removes ?key= from the query if it is the token, and reports whether it was there. The rest
// stays as it is, byte for byte.
func (s *Server) stripQuery(r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return false
	}
	var rest []string
	found := false
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name) // an invalid one is "", which is no key
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

// refuseToken answers a request without the token.
func (s *Server) refuseToken(w http.ResponseWriter, r *http.Request) {
	if logs, unlogged := s.refusals.count(time.Now()); logs {
		s.config.Log.Warn("request without the token", "from", r.RemoteAddr, "method", rest.Clip(r.Method), "path", rest.Clip(r.URL.Path), "unlogged", unlogged)
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="ridethrough"`)
	reject(w, r, http.StatusUnauthorized, "the server needs its token, in the header %s or in place of the API key", tokenHeader)
}

// refusals limits the log of requests without the token to one line a second.
type refusals struct {
	mu       sync.Mutex
	last     time.Time
	unlogged int // since then
}

// count reports whether a refusal is logged, and how many before it were not.
func (f *refusals) count(now time.Time) (logs bool, unlogged int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.last) < time.Second {
		f.unlogged++
		return false, 0
	}
	unlogged, f.unlogged, f.last = f.unlogged, 0, now
	return true, unlogged
}

package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/access"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

const authorization = "Authorization"

// keyHeaders are the headers in which clients send an API's credential. Many clients can set no other, so the token
// may be there.
var keyHeaders = []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

type sender struct {
	access.Token      // zero: without a valid one
	valid        bool // it has a valid token, or none is needed
	guessed      bool // it has presented an unknown token, or an unknown key in its place
}

// hasExpired reports whether the sender's token is no longer valid. It reads the clock only for the few tokens that
// expire.
func (s sender) hasExpired() bool { return !s.Expires.IsZero() && s.HasExpired(time.Now()) }

// tokens returns the current tokens, including expired ones.
func (s *Server) tokens() []access.Token {
	if s.config.Tokens == nil {
		return s.single
	}
	return append(slices.Clip(s.single), s.config.Tokens()...)
}

func (s *Server) needsToken() bool { return s.config.Token != "" || s.config.Tokens != nil }

// identify returns the sender of a request, and removes tokens from it: they never reach a provider.
func (s *Server) identify(r *http.Request) sender {
	h := r.Header
	given := h[access.Header]
	if given != nil {
		delete(h, access.Header)
	}
	if !s.needsToken() {
		return sender{Token: access.Token{Scope: access.Admin}, valid: true}
	}
	k := keys{all: s.tokens()}
	for _, v := range given {
		k.take(v)
	}
	for _, name := range keyHeaders {
		if k.takeAny(h[name]) {
			delete(h, name)
		}
	}
	if k.takeAny(bearers(h[authorization])) {
		delete(h, authorization)
	}
	k.takeQuery(r)
	return k.sender
}

type keys struct {
	all []access.Token
	sender
	tried int // values before the token
}

// maxTried is how many values of one request may be a token: more are guesses.
const maxTried = 8

// take records the token that has a value as its secret, unless another was found earlier. It reports whether there
// is one.
func (k *keys) take(secret string) bool {
	if k.tried++; k.tried > maxTried && !k.valid {
		return false
	}
	secret = strings.TrimSpace(secret)
	t, ok := access.Find(k.all, secret)
	switch {
	case ok && !k.valid:
		k.sender = sender{Token: t, valid: true}
	case !ok && !k.valid && secret != "":
		k.guessed = true
	}
	return ok
}

func (k *keys) takeAny(values []string) bool {
	found := false
	for _, v := range values {
		found = k.take(v) || found
	}
	return found
}

func bearers(values []string) (all []string) {
	for _, v := range values {
		if scheme, token, _ := strings.Cut(strings.TrimSpace(v), " "); strings.EqualFold(scheme, "Bearer") {
			all = append(all, token)
		}
	}
	return all
}

// takeQuery removes ?key= from the query if it is a token. The rest stays byte for byte.
func (k *keys) takeQuery(r *http.Request) {
	if r.URL.RawQuery == "" {
		return
	}
	var rest []string
	found := false
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name) // an invalid one is "", which is no key
		value, _ = url.QueryUnescape(value)
		if name == "key" && k.take(value) {
			found = true
			continue
		}
		rest = append(rest, pair)
	}
	if found {
		r.URL.RawQuery = strings.Join(rest, "&")
		r.RequestURI = r.URL.RequestURI()
	}
}

// recognize identifies the sender of a request and counts guesses. wait is how long its address must not present a
// wrong token.
func (s *Server) recognize(r *http.Request) (who sender, wait time.Duration) {
	who = s.identify(r)
	if who.valid || !who.guessed {
		return who, 0
	}
	from, now := addressOf(r), time.Now()
	if wait = s.guesses.Wait(from, now); wait == 0 {
		s.guesses.Fail(from, now)
	}
	return who, wait
}

// admit returns the sender of a request that needs scopes; false: the request was refused.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, needs access.Scope) (who sender, ok bool) {
	who, wait := s.recognize(r)
	switch {
	case wait > 0:
		s.refuseGuesses(w, r, wait)
	case !who.valid:
		s.refuseToken(w, r)
	case who.hasExpired():
		refuseExpired(w, r, who.Token)
	case !who.Scope.Has(needs):
		s.refuseScope(w, r, who.Token, needs)
	default:
		return who, true
	}
	return who, false
}

// sees reports whether a request that needs no token has one that permits reading.
func (s *Server) sees(r *http.Request) bool {
	who, wait := s.recognize(r)
	return wait == 0 && who.valid && who.Scope.Has(access.See) && !who.hasExpired()
}

func addressOf(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr()
}

func (s *Server) refuseToken(w http.ResponseWriter, r *http.Request) {
	if logs, unlogged := s.refusals.count(time.Now()); logs {
		s.config.Log.Warn("request without the token", "from", r.RemoteAddr, "method", rest.Clip(r.Method), "path", rest.Clip(r.URL.Path), "unlogged", unlogged)
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="ridethrough"`)
	reject(w, r, http.StatusUnauthorized, "the server needs its token, in the header %s or in place of the API key", access.Header)
}

func refuseExpired(w http.ResponseWriter, r *http.Request, t access.Token) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="ridethrough", error="invalid_token"`)
	reject(w, r, http.StatusUnauthorized, "the token %s has expired on %s", t.Name, t.Expires.UTC().Format(time.RFC3339))
}

// refuseScope answers and records a request that its token does not permit.
func (s *Server) refuseScope(w http.ResponseWriter, r *http.Request, t access.Token, needs access.Scope) {
	s.config.Audit.Act(actor(t, r), actionOf(r), "status", http.StatusForbidden)
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="ridethrough", error="insufficient_scope", scope="%s"`, strings.ReplaceAll(needs.String(), ",", " ")))
	reject(w, r, http.StatusForbidden, "the token %s has the scope %v, and this needs %v", t.Name, t.Scope, needs)
}

// refuseGuesses answers a request from an address with too many wrong tokens.
func (s *Server) refuseGuesses(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	if logs, unlogged := s.refusals.count(time.Now()); logs {
		s.config.Log.Warn("too many wrong tokens from an address", "from", r.RemoteAddr, "path", rest.Clip(r.URL.Path), "unlogged", unlogged)
	}
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	reject(w, r, http.StatusTooManyRequests, "too many wrong tokens from your address; try again in %v", wait.Round(time.Second))
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

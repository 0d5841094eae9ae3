package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/internal/spool"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// intake is a client's request as it has come in. Its methods read nothing of what becomes of it.
type intake struct {
	gateway  *Gateway
	setup    *setup
	upstream *upstream // that the request is for
	endpoint endpoint
	dialect  *api.API
	r        *http.Request
	info     Call
	parsed   api.Request
	body     received
	maxWait  time.Duration // the longest total wait that the client allows; 0: no limit
	identity
}

// received is the body of a request.
type received struct {
	*spool.Body
	coding     string // the content coding, in lower case; "": none
	unreadable bool   // the coding is unknown, and so is the form of the answer
	own        bool   // it is the gateway's, in place of the client's
}

// identity says whose a request is, and by what it is known when it is sent again.
type identity struct {
	credential string                  // identifies its credentials, without holding them
	tenant     Tenant                  // nil: none is known
	meant      atomic.Pointer[meaning] // nil: not needed so far
	inFleet    answerID                // zero: not needed so far; with a key only: it is an earlier request's
}

// Receive bounds how long a client may take for the body of a request for an answer. Only the time counts in
// which the gateway waits for the client; a pause of 30 s is too long in any case. A zero field sets no limit.
//
// A client that is too slow gets the status 408. These limits replace the ReadTimeout of an http.Server.
type Receive struct {
	Time time.Duration // for all of it
	Rate int64         // the least bytes per second, on average, once 30 s have passed
}

// DefaultReceive returns the limits of a gateway without its own: 10 min, and 16 KiB per second.
func DefaultReceive() Receive {
	l := exchange.Default()
	return Receive{Time: l.Total, Rate: l.Rate}
}

// limits returns them in the form in which they are applied.
func (r Receive) limits() exchange.Limits {
	l := exchange.Default()
	l.Total, l.Rate = r.Time, r.Rate
	return l
}

// readBody reads and parses the request; false: it is answered with an error. While its upstream fails it is
// going to wait, and compressed at once.
func (c *call) readBody() bool {
	received := exchange.Bound(c.w, c.r, c.setup.receive)
	src := scannedBodies.Get().(*scannedBody)
	defer src.release()
	if coding := c.r.Header.Get("Content-Encoding"); !strings.EqualFold(coding, "identity") {
		c.body.coding = strings.ToLower(coding)
	}
	src.found = c.dialect.Scanner()
	src.Reader, src.ended = c.r.Body, c.body.coding != ""
	read, encoded := c.gateway.spool.Read, src.ended
	if c.upstream.breaker.Degraded() {
		read = c.gateway.spool.ReadForWait
	}
	body, err := read(src, c.r.ContentLength, c.upstream.largest())
	if err != nil {
		c.status = c.upstream.refuseBody(c.w, c.r, received, c.dialect, err)
		return false
	}
	c.body.Body = body
	if encoded {
		c.body.unreadable = !c.eachPart(func(part []byte) (more bool) { return !src.found.Scan(part) })
	}
	c.parsed = c.dialect.Request(c.r.URL, &src.found)
	c.form = c.parsed.Form
	return true
}

// largest returns how many bytes a request may have.
func (u *upstream) largest() int64 { return cmp.Or(u.Limits.Body, 32<<20) }

// scannedBody is a request's body that is looked at while it is received: afterwards it may be compressed.
type scannedBody struct {
	io.Reader
	found api.RequestScanner
	ended bool // nothing of the rest is of use
}

// scannedBodies are not in use.
var scannedBodies = sync.Pool{New: func() any { return new(scannedBody) }}

// release makes it ready for another body.
func (s *scannedBody) release() {
	*s = scannedBody{}
	scannedBodies.Put(s)
}

// Read implements io.Reader.
func (s *scannedBody) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if !s.ended {
		s.ended = s.found.Scan(p[:n])
	}
	return n, err
}

// eachPart calls f with the parts of the request's body, decoded, until f returns false. It reports whether they
// could be read. What is sent stays encoded.
func (in *intake) eachPart(f func(part []byte) (more bool)) bool {
	if in.body.coding != "" {
		return in.gateway.spool.Unpack(in.body.coding, in.body.Body, in.upstream.largest(), f)
	}
	return in.body.Each(f)
}

// fullRetryAfter is the Retry-After, in seconds, of a request for whose body there is no room.
const fullRetryAfter = "5"

// refuseBody answers a request whose body is not taken, and returns the status.
func (u *upstream) refuseBody(w http.ResponseWriter, r *http.Request, received *exchange.Body, d *api.API, err error) int {
	h := w.Header()
	status, kind, why := http.StatusBadRequest, fault.Invalid, "the request's body cannot be read: "+err.Error()
	switch slow, isSlow := errors.AsType[*exchange.SlowError](err); {
	case errors.Is(err, spool.ErrTooLarge):
		status, kind = http.StatusRequestEntityTooLarge, fault.TooLong
		why = fmt.Sprintf("the request is larger than %d bytes, the bound of the upstream %s", u.largest(), u.Name)
		h.Set(shouldRetryHeader, "false")
	case errors.Is(err, spool.ErrFull):
		status, kind, why = http.StatusServiceUnavailable, fault.Overloaded, err.Error()+"; try again"
		h.Set("Retry-After", fullRetryAfter)
	case isSlow:
		status, why = http.StatusRequestTimeout, "the request's body is sent too slowly: "+slow.Error()
	}
	answer := d.ErrorBody(&fault.Error{Kind: kind}, "ridethrough: "+why)
	h.Set("Content-Length", strconv.Itoa(len(answer))) // the client has all of it before the connection ends
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // what follows is no request
	}
	reply(w, d, status, answer)
	_ = http.NewResponseController(w).Flush()
	received.Drain()
	return status
}

// commonCredentials has the common names of credentials by their names in this process, which take half the time.
type commonCredentials struct {
	mu    sync.RWMutex
	names map[string]string
}

// maxCredentials is how many credentials have their common name at hand.
const maxCredentials = 4096

// of is [breaker.CommonCredential].
func (c *commonCredentials) of(h http.Header, u *url.URL) string {
	own := breaker.Credential(h, u)
	c.mu.RLock()
	name := c.names[own]
	c.mu.RUnlock()
	if name != "" {
		return name
	}
	name = breaker.CommonCredential(h, u)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil || len(c.names) >= maxCredentials {
		c.names = map[string]string{}
	}
	c.names[own] = name
	return name
}

// meaning identifies what a request asks the model, whatever the order of its members, its whitespace and its
// tags. Requests with equal keys and equal meanings are the same one.
type meaning struct {
	body   api.Digest
	header uint64
	form   api.Form
}

// meaningHeaders change the answer, and are the same in each re-send.
var meaningHeaders = []string{"Anthropic-Version", "Anthropic-Beta"}

// meaning returns what the call means; nil: its body is gone. It reads the body, once, part by part.
func (in *intake) meaning() *meaning {
	if m := in.meant.Load(); m != nil {
		return m
	}
	body, ok := in.digest(in.gateway.seed)
	if !ok {
		return nil
	}
	m := &meaning{body: body, form: in.parsed.Form}
	var h maphash.Hash
	h.SetSeed(in.gateway.seed[0])
	for _, name := range meaningHeaders {
		for _, v := range in.r.Header[name] {
			_, _ = h.WriteString(v) // it never fails
			_ = h.WriteByte('\n')
		}
		_ = h.WriteByte(0)
	}
	m.header = h.Sum64()
	in.meant.Store(m)
	return m
}

// digest returns the digest of the body: of its JSON, or of its bytes if they are not readable JSON.
func (in *intake) digest(seed api.DigestSeed) (api.Digest, bool) {
	d := in.dialect.NewRequestDigest(seed)
	if in.eachPart(func(part []byte) (more bool) { return !d.Scan(part) }) {
		if sum, ok := d.Sum(); ok {
			return sum, true
		}
	}
	return api.DigestOf(seed, in.body.Each)
}

// Tenant is on whose account requests are where a gateway has several users. Its methods may be called concurrently,
// and do not block.
type Tenant interface {
	// Name identifies it.
	Name() string
	// Hold takes a place for a request that waits for its upstream, and returns what frees it; nil: all are taken.
	Hold() (release func())
	// Used counts what an answer has cost, as far as the provider states it. It is called once for an answer.
	Used(ratelimit.Charged)
}

// tenantKey is the key of a Tenant in a context.
type tenantKey struct{}

// WithTenant returns the context of a request that is on the account of a tenant.
func WithTenant(ctx context.Context, t Tenant) context.Context {
	return context.WithValue(ctx, tenantKey{}, t)
}

// tenantOf returns the tenant of a request; nil: none is known.
func tenantOf(r *http.Request) Tenant {
	t, _ := r.Context().Value(tenantKey{}).(Tenant)
	return t
}

// tenantName returns the name of the call's tenant; "": none is known.
func (in *intake) tenantName() string {
	if in.tenant == nil {
		return ""
	}
	return in.tenant.Name()
}

// read reads and parses the request; false: it is answered with an error.
func (c *call) read() bool {
	c.info = Call{
		ID: c.gateway.requests.Add(1), Session: sessionOf(c.r.Header), Client: clientOf(c.r.Header),
		API: c.dialect.Name(), Upstream: c.upstream.Name, Began: c.info.Began,
	}
	if parent := c.r.Header["Traceparent"]; len(parent) > 0 {
		c.info.Parent = text.Clip(parent[0], idBound)
	}
	if !c.readBody() || !c.readMaxWait() {
		return false
	}
	c.info.Model, c.info.Stream = c.parsed.Model, c.parsed.Form != api.JSON
	return true
}

// client identifies the client.
func (in *intake) client() api.Client {
	return api.Client{
		Agent: in.r.UserAgent(), Originator: in.r.Header.Get("Originator"), Library: in.r.Header.Get("X-Goog-Api-Client"), Model: in.parsed.Model,
	}
}

// lastClient identifies the client for its last error, by its body too, which costs a look at all of that.
func (in *intake) lastClient() api.Client { return in.client().WithBody(in.eachPart) }

// repeats reports whether a call is the same request as another one that may still be read. See [meaning].
func (in *intake) repeats(other *intake) bool {
	a, b := in.meaning(), other.meaning()
	return a != nil && b != nil && *a == *b
}

// idBound is how much is kept of what a client sends about itself.
const idBound = 128

// sessionHeaders are the headers in which clients send the id of a conversation.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "Session-Id", "Session_id", "X-Session-Id", "X-Session-Affinity", "Conversation-Id"}

// sessionOf returns the client's own id of its conversation.
func sessionOf(h http.Header) string {
	for _, name := range sessionHeaders {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			return text.Clip(v[0], idBound)
		}
	}
	return ""
}

// clientOf returns the client's program.
func clientOf(h http.Header) string {
	if v := h["User-Agent"]; len(v) > 0 {
		first, _, _ := strings.Cut(v[0], " ")
		return text.Clip(first, idBound)
	}
	return ""
}

// requestKey is what a request and its re-send have in common at first sight. Their bodies are compared only if
// it is equal: the happy path reads no body for that.
type requestKey struct {
	account
	dialect *api.API
	path    string // with the query, and with the upstream's name if the path has it
	tenant  string
}

// account is what the requests of a session have in common.
type account struct{ credential, session, model string }

// key returns the call's.
func (in *intake) key() requestKey {
	return requestKey{account{in.credential, in.info.Session, in.parsed.Model}, in.dialect, in.r.RequestURI, in.tenantName()}
}

// newEntry returns an entry for the call's request.
func (in *intake) newEntry() entry {
	k := in.key()
	return entry{requestKey: k, digest: maphash.Comparable(in.gateway.seed[0], k.account)}
}

// isResend reports whether the client says that it has sent the request before.
func (in *intake) isResend() bool {
	if count := in.r.Header["X-Stainless-Retry-Count"]; len(count) > 0 {
		return count[0] != "0"
	}
	try := in.r.Header.Get("Amz-Sdk-Request") // of the AWS SDKs, such as "attempt=2; max=3"
	return strings.HasPrefix(try, "attempt=") && !strings.HasPrefix(try, "attempt=1;")
}

// credentialFor identifies the credential that an upstream is sent.
func (in *intake) credentialFor(up *upstream) string {
	if up.ownCredential() {
		return "own"
	}
	return in.credential
}

// readMaxWait reads the longest wait that the client allows; false: it is answered with an error. A client that states
// no limit may be known to proceed without this answer.
func (c *call) readMaxWait() bool {
	v := c.r.Header[preamble.MaxWait]
	if len(v) == 0 {
		side := c.client().SideRequest(c.eachPart)
		c.info.Side, c.maxWait = side.What, side.Tried
		return true
	}
	var err error
	if c.maxWait, err = time.ParseDuration(v[0]); err == nil && c.maxWait > 0 {
		return true
	}
	c.body.Release()
	c.reply(http.StatusBadRequest, c.dialect.ErrorBody(&fault.Error{Kind: fault.Invalid},
		"ridethrough: "+preamble.MaxWait+": "+text.Clip(v[0], idBound)+"; want a time above 0, such as 10m"))
	return false
}

// detaches reports whether the client's answer is kept when it leaves.
func (in *intake) detaches() bool {
	d := &in.setup.detached
	return len(d.Agents) > 0 && d.includes(in.client())
}

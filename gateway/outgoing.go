package gateway

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// viaHeader lists the gateways that a request has passed.
const viaHeader = "X-Ridethrough-Via"

// shouldRetryHeader is the response header that ends the retries of the SDKs made
// by Stainless (OpenAI's and Anthropic's).
const shouldRetryHeader = "X-Should-Retry"

// headerPrefix begins the headers between the client and the gateway.
const headerPrefix = "X-Ridethrough-"

// credentialHeaders are the headers in which clients send credentials. Each goes only to an upstream whose
// API uses it. A browser's cookies are for other programs at this address.
var credentialHeaders = []string{authorization, "X-Api-Key", googleKey, azureKey, securityToken, "Cookie"}

// newOutgoing returns the request for an upstream.
func (c *call) newOutgoing(ctx context.Context, up *upstream) (*http.Request, error) {
	req := c.r.WithContext(ctx)
	req.Header = c.outgoingHeader(up)
	query := c.r.URL.RawQuery
	if err := up.authorize(req.Header, &query); err != nil {
		return nil, err
	}
	req.URL, req.Host, req.RequestURI = up.urlOf(c.endpoint, query), "", ""
	req.Close, req.TransferEncoding, req.Trailer = false, nil, nil
	req.ContentLength, req.GetBody = int64(c.body.Size()), c.body.Open
	req.Body, _ = c.body.Open()
	return req, nil
}

// outgoingHeader returns the headers for an upstream: the client's without those
// of its connection, of other APIs and of the gateway.
func (c *call) outgoingHeader(up *upstream) http.Header {
	h := maps.Clone(c.r.Header) // which is faster than to add one by one
	for name := range c.r.Header {
		if isHopByHop(name) || strings.HasPrefix(name, headerPrefix) && name != viaHeader {
			delete(h, name)
		}
	}
	dropNamed(h, c.r.Header["Connection"])
	if c.continuing() {
		delete(h, "Content-Encoding")
	}
	delete(h, "Expect")                   // the body has arrived
	h["Accept-Encoding"] = identityCoding // the gateway has to see where the content begins
	h[viaHeader] = append(slices.Clip(h[viaHeader]), c.gateway.id)
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = noAgent // without one, net/http would add its own
	}
	return h
}

// Values of headers that every request has. They are not to be changed.
var identityCoding, noAgent = []string{"identity"}, []string{""}

// authorize removes the credentials that are not for the upstream from a request,
// and sets the upstream's own key if it has one.
func (u *upstream) authorize(h http.Header, query *string) error {
	for _, name := range credentialHeaders {
		if u.ownCredential() || !slices.Contains(u.api.keys, name) {
			delete(h, name)
		}
	}
	if u.ownCredential() || !slices.Contains(u.api.keys, googleKey) {
		*query = removeParam(*query, googleParam)
	}
	if u.Key == nil {
		return nil
	}
	key, err := u.Key()
	if err != nil || key == "" {
		return &fault.Error{
			Kind: fault.Auth, Message: "the key of the upstream " + u.Name + " cannot be read",
			Err: errors.Join(errLocal, err), Rule: "gateway/key",
		}
	}
	name := u.api.keys[0]
	if name == authorization {
		key = bearer + key
	}
	h[name] = []string{key}
	return nil
}

// ownCredential reports whether the client's credentials are not for the upstream: it has its own, or none.
func (u *upstream) ownCredential() bool { return u.NoKey || u.Key != nil || u.Sign != nil }

// removeParam removes a parameter from a query and leaves the rest unchanged.
func removeParam(query, name string) string {
	if !strings.Contains(query, name+"=") && !strings.Contains(query, "%") {
		return query
	}
	var rest []string
	for part := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(part, "=")
		if key, err := url.QueryUnescape(key); err != nil || key != name {
			rest = append(rest, part)
		}
	}
	return strings.Join(rest, "&")
}

// credentialFor identifies the credential that an upstream is sent.
func (c *call) credentialFor(up *upstream) string {
	if up.ownCredential() {
		return "own"
	}
	return c.credential
}

// isHopByHop reports whether a header belongs to one connection (RFC 9110, 7.6.1).
func isHopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// dropNamed removes the headers that Connection names as those of one connection.
func dropNamed(h http.Header, connection []string) {
	for _, list := range connection {
		for name := range strings.SplitSeq(list, ",") {
			if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); !isProtected(name) {
				delete(h, name)
			}
		}
	}
}

// isProtected reports whether a header is not to be removed because Connection names it: it has credentials, or
// is what gateways tell each other.
func isProtected(name string) bool {
	return strings.HasPrefix(name, headerPrefix) || slices.Contains(credentialHeaders, name)
}

// protectNamed removes the names of protected headers from Connection, for a proxy that removes what it names.
func protectNamed(h http.Header) {
	names := strings.Split(strings.Join(h["Connection"], ","), ",")
	rest := slices.DeleteFunc(names, func(name string) bool {
		return isProtected(http.CanonicalHeaderKey(strings.TrimSpace(name)))
	})
	if len(h["Connection"]) > 0 {
		h["Connection"] = []string{strings.Join(rest, ",")}
	}
}

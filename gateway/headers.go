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

// originHeaders are the response headers by which a server controls its origin in a browser: cookies, storage,
// where later requests go, and whatever its pages may load, run, see and report. The origin is that of the
// gateway's server, so it sets them itself and drops an upstream's. No client of these APIs reads them.
var originHeaders = map[string]bool{
	"Set-Cookie": true, "Set-Cookie2": true, "Clear-Site-Data": true, "Set-Login": true, "Shared-Storage-Write": true, // what is stored
	"Secure-Session-Registration": true, "Secure-Session-Challenge": true, "Sec-Session-Registration": true, "Sec-Session-Challenge": true,
	"Strict-Transport-Security": true, "Alt-Svc": true, "Alternates": true, "Service-Worker-Allowed": true, // where requests go
	"Public-Key-Pins": true, "Public-Key-Pins-Report-Only": true, "Expect-Ct": true, "Use-As-Dictionary": true, "Refresh": true,
	"Link": true, "Speculation-Rules": true, "Sourcemap": true, "X-Sourcemap": true, "X-Dns-Prefetch-Control": true, // what is loaded
	"Report-To": true, "Reporting-Endpoints": true, "Nel": true, "Origin-Trial": true, "Accept-Ch": true, "Critical-Ch": true, // and told
	"X-Content-Type-Options": true, "X-Frame-Options": true, "X-Xss-Protection": true, "Referrer-Policy": true, "Permissions-Policy": true, // what a page may
	"Feature-Policy": true, "Document-Policy": true, "Require-Document-Policy": true, "Origin-Agent-Cluster": true, "Integrity-Policy": true,
	"Supports-Loading-Mode": true, "Activate-Storage-Access": true, "Observe-Browsing-Topics": true, "Timing-Allow-Origin": true,
	"X-Webkit-Csp": true, "X-Permitted-Cross-Domain-Policies": true,
}

// originPrefixes begin the names of other such headers.
var originPrefixes = []string{"Access-Control-", "Attribution-Reporting-", "Content-Security-Policy", "Cross-Origin-"}

// rulesOrigin reports whether a response header is for a browser and about its whole origin.
func rulesOrigin(name string) bool {
	return originHeaders[name] || slices.ContainsFunc(originPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// passThroughHeaders removes the headers of a response that rule a browser's origin, and lets a stream arrive as it comes.
func passThroughHeaders(resp *http.Response) error {
	maps.DeleteFunc(resp.Header, func(name string, _ []string) bool { return rulesOrigin(name) })
	if resp.StatusCode == http.StatusOK && isStream(resp.Header) {
		passAtOnce(resp.Header)
	}
	return nil
}

// isStream reports whether a response is a stream by its type: events, or lines as of Ollama's /api/pull.
func isStream(h http.Header) bool {
	kind := h.Get("Content-Type")
	return strings.HasPrefix(kind, "text/event-stream") || strings.HasPrefix(kind, "application/x-ndjson")
}

// passAtOnce asks a proxy between the client and the gateway to pass on each part of an answer as it comes. nginx would
// collect a short answer to its end, and with it the keepalives of a hold in its middle.
func passAtOnce(h http.Header) { h["X-Accel-Buffering"] = []string{"no"} }

// finalWriter passes on final answers only. An informational one (1xx) could tell a browser what to load, and
// httputil.ReverseProxy clears the header after it, with what the server has set.
type finalWriter struct {
	http.ResponseWriter
	set http.Header // by the server
}

// newFinalWriter returns a writer that keeps the headers set so far.
func newFinalWriter(w http.ResponseWriter) *finalWriter {
	return &finalWriter{w, maps.Clone(w.Header())}
}

// Unwrap is for http.ResponseController.
func (w *finalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader sends the header of a final answer.
func (w *finalWriter) WriteHeader(status int) {
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		return
	}
	h := w.Header()
	for name, values := range w.set {
		if h[name] == nil {
			h[name] = values
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

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
func (in *intake) newOutgoing(ctx context.Context, up *upstream) (*http.Request, error) {
	req := in.r.WithContext(ctx)
	req.Header = in.outgoingHeader(up)
	query := in.r.URL.RawQuery
	if err := up.authorize(req.Header, &query); err != nil {
		return nil, err
	}
	req.URL, req.Host, req.RequestURI = up.urlOf(in.endpoint, query), "", ""
	req.Close, req.TransferEncoding, req.Trailer = false, nil, nil
	req.ContentLength, req.GetBody = int64(in.body.Size()), in.body.Open
	req.Body, _ = in.body.Open()
	return req, nil
}

// outgoingHeader returns the headers for an upstream: the client's without those
// of its connection, of other APIs and of the gateway.
func (in *intake) outgoingHeader(up *upstream) http.Header {
	h := maps.Clone(in.r.Header) // which is faster than to add one by one
	for name := range in.r.Header {
		if isHopByHop(name) || strings.HasPrefix(name, headerPrefix) {
			delete(h, name)
		}
	}
	up.tellVia(h, in.r.Header, in.gateway.id)
	dropNamed(h, in.r.Header["Connection"])
	if in.body.own {
		delete(h, "Content-Encoding")
	}
	delete(h, "Expect")                   // the body has arrived
	h["Accept-Encoding"] = identityCoding // the gateway has to see where the content begins
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = noAgent // without one, net/http would add its own
	}
	return h
}

// tellVia sets the header that lists the gateways on a request's way, where the upstream may be one: so a way that
// leads back is found.
func (u *upstream) tellVia(out, in http.Header, id string) {
	if u.peer.MayBeGateway(&u.baseURL) {
		out[viaHeader] = append(slices.Clip(in[viaHeader]), id)
	}
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

// isHopByHop reports whether a header belongs to one connection (RFC 9110, 7.6.1).
func isHopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// takesTrailers reports whether a client has said that it reads trailers (RFC 9110, 10.1.4).
func takesTrailers(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h["Te"], ","), ",") {
		if strings.EqualFold(strings.TrimSpace(part), "trailers") {
			return true
		}
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

// securityToken is the header of temporary AWS credentials.
const securityToken = "X-Amz-Security-Token"

// cannotPass reports whether a request is signed by the client and would pass unchanged: the signature is for this
// gateway's address, and no upstream would accept it.
func (u *upstream) cannotPass(r *http.Request) bool {
	return !u.ownCredential() && strings.HasPrefix(r.Header.Get(authorization), "AWS4-")
}

// refuseSigned answers a request that is signed by the client.
func (u *upstream) refuseSigned(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(shouldRetryHeader, "false")
	u.refuse(w, r, http.StatusForbidden, &fault.Error{Kind: fault.Auth}, "the request is signed (SigV4) "+
		"for the address of this gateway, and its provider would refuse that signature; use a Bedrock API key in the client "+
		"(AWS_BEARER_TOKEN_BEDROCK), or give the upstream "+u.Name+" AWS credentials of its own, with which requests are signed again")
}

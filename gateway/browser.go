package gateway

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// originHeaders are the response headers by which a server rules its origin in a browser: its cookies and
// storage, where its next requests go, what a page of it may load, run, see and report. The origin is that of
// the gateway's server, so it sets them itself and drops an upstream's. No client of these APIs reads them.
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

// dropOriginHeaders removes the headers of a response that rule a browser's origin.
func dropOriginHeaders(resp *http.Response) error {
	maps.DeleteFunc(resp.Header, func(name string, _ []string) bool { return rulesOrigin(name) })
	return nil
}

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

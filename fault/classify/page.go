package classify

import (
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// page is what gateways say, in a page or a line, where an API's answer should
// be: Envoy, nginx, HAProxy, Traefik, Kong, Varnish, Squid and those of hosts.
// Mostly their status says it, too; the words count where a 200 bears them, or
// only the text is left.
var page = table{
	vendor: "page",
	says: []row{
		{says: "no healthy upstream", kind: fault.Overloaded, why: "Envoy has nobody to ask"},
		{says: "upstream request timeout", kind: fault.UpstreamTimeout, why: "Envoy's route timeout"},
		{says: "stream timeout", kind: fault.UpstreamTimeout, why: "Envoy's idle timeout"},
		{says: "upstream connect error or disconnect/reset before headers * overflow", kind: fault.Overloaded, why: "Envoy's circuit breaker"},
		{says: "upstream connect error or disconnect/reset before headers * timeout", kind: fault.UpstreamTimeout, why: "Envoy could not connect in time"},
		{says: "upstream connect error or disconnect/reset before headers", kind: fault.Unavailable, why: "Envoy lost the upstream"},
		{says: "upstream reset before response started", kind: fault.Unavailable, why: "Envoy lost the upstream"},
		{says: "local rate limited", kind: fault.RateLimited, why: "Envoy's own limit"},
		{says: "RBAC: access denied", kind: fault.Refused, why: "Envoy's rules"},
		{says: "the page you are looking for is currently unavailable", kind: fault.Unavailable, why: "nginx's 50x page"},
		{says: "plain HTTP request was sent to HTTPS port", kind: fault.Invalid, why: "nginx, with 400: the address has the wrong scheme"},
		{says: "sent an HTTP request to an HTTPS server", kind: fault.Invalid, why: "Go, with 400: the address has the wrong scheme"},
		{says: "no server is available to handle this request", kind: fault.Overloaded, why: "HAProxy has nobody to ask"},
		{says: "no available server", kind: fault.Overloaded, why: "Traefik has nobody to ask"},
		{says: "failure to get a peer from the ring balancer", kind: fault.Overloaded, why: "Kong has nobody to ask"},
		{says: "upstream server is timing out", kind: fault.UpstreamTimeout, why: "Kong"},
		{says: "invalid response was received from the upstream server", kind: fault.Unavailable, why: "Kong"},
		{says: "no route matched with those values", kind: fault.Invalid, why: "Kong does not know the address"},
		{says: "backend fetch failed", kind: fault.Unavailable, why: "Varnish"},
		{says: "first byte timeout", kind: fault.UpstreamTimeout, why: "Varnish and Fastly"},
		{says: "the requested URL could not be retrieved", kind: fault.Unavailable, why: "Squid"},
		{says: "application failed to respond", kind: fault.Unavailable, why: "Railway"},
		{says: "FUNCTION_INVOCATION_TIMEOUT", kind: fault.UpstreamTimeout, why: "Vercel"},
		{says: "FUNCTION_INVOCATION_FAILED", kind: fault.Unavailable, why: "Vercel"},
		{says: "FUNCTION_THROTTLED", kind: fault.Overloaded, why: "Vercel"},
		{says: "FUNCTION_PAYLOAD_TOO_LARGE", kind: fault.TooLong, why: "Vercel"},
		{says: "DEPLOYMENT_NOT_FOUND", kind: fault.Invalid, why: "Vercel"},
		{says: "the server encountered a temporary error", kind: fault.Unavailable, why: "Google's front end; it says how long to wait"},
	},
}

// isPage tells whether a body is a web page.
func isPage(text string, header http.Header) bool {
	if !strings.HasPrefix(text, "<") {
		return false
	}
	if strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		return true
	}
	start := strings.ToLower(text[:min(len(text), 512)])
	return strings.HasPrefix(start, "<!doctype html") || strings.Contains(start, "<html") || strings.Contains(start, "<head")
}

// pageText gives what a web page says to people, from its first 16 KiB: the
// text without tags, scripts and styles, each piece once.
func pageText(html string) string {
	html = html[:min(len(html), 16<<10)]
	var b strings.Builder
	for html != "" {
		text, rest, _ := strings.Cut(html, "<")
		if t := strings.Join(strings.Fields(text), " "); t != "" && !strings.Contains(b.String(), t) {
			if b.Len() > 0 {
				b.WriteString(" · ")
			}
			b.WriteString(t)
		}
		html = afterTag(rest)
		if b.Len() > messageLimit {
			break
		}
	}
	return b.String()
}

// afterTag gives what follows a tag, and for scripts and styles what follows
// their end.
func afterTag(s string) string {
	name := strings.ToLower(s[:min(len(s), 6)])
	for _, mute := range [...]string{"script", "style"} {
		if strings.HasPrefix(name, mute) {
			if _, rest, ok := strings.Cut(s, "</"); ok {
				s = rest
			}
		}
	}
	_, rest, _ := strings.Cut(s, ">")
	return rest
}

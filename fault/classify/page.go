package classify

import (
	"net/http"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// gatewayPages are the answers of gateways in place of an API's, as a page or a line: Envoy, nginx,
// HAProxy, Traefik, Kong, Varnish, Squid and hosts. Usually the status decides; the texts count inside a
// 200, or where only the text is left.
var gatewayPages = table{
	vendor: "page",
	texts: []row{
		{text: "no healthy upstream", kind: fault.Overloaded, reason: "Envoy has no healthy upstream"},
		{text: "upstream request timeout", kind: fault.UpstreamTimeout, reason: "Envoy's route timeout"},
		{text: "stream timeout", kind: fault.UpstreamTimeout, reason: "Envoy's idle timeout"},
		{text: "upstream connect error or disconnect/reset before headers * overflow", kind: fault.Overloaded, reason: "Envoy's circuit breaker"},
		{text: "upstream connect error or disconnect/reset before headers * timeout", kind: fault.UpstreamTimeout, reason: "Envoy could not connect in time"},
		{text: "upstream connect error or disconnect/reset before headers", kind: fault.Unavailable, reason: "Envoy lost the upstream"},
		{text: "upstream reset before response started", kind: fault.Unavailable, reason: "Envoy lost the upstream"},
		{text: "local rate limited", kind: fault.RateLimited, reason: "Envoy's own limit"},
		{text: "RBAC: access denied", kind: fault.Refused, reason: "Envoy's rules"},
		{text: "the page you are looking for is currently unavailable", kind: fault.Unavailable, reason: "nginx's 50x page"},
		{text: "plain HTTP request was sent to HTTPS port", kind: fault.Invalid, reason: "nginx, with 400: the URL has the wrong scheme"},
		{text: "sent an HTTP request to an HTTPS server", kind: fault.Invalid, reason: "Go, with 400: the URL has the wrong scheme"},
		{text: "no server is available to handle this request", kind: fault.Overloaded, reason: "HAProxy has no server"},
		{text: "no available server", kind: fault.Overloaded, reason: "Traefik has no server"},
		{text: "failure to get a peer from the ring balancer", kind: fault.Overloaded, reason: "Kong has no server"},
		{text: "upstream server is timing out", kind: fault.UpstreamTimeout, reason: "Kong"},
		{text: "invalid response was received from the upstream server", kind: fault.Unavailable, reason: "Kong"},
		{text: "no route matched with those values", kind: fault.Invalid, reason: "Kong has no route for the URL"},
		{text: "backend fetch failed", kind: fault.Unavailable, reason: "Varnish"},
		{text: "first byte timeout", kind: fault.UpstreamTimeout, reason: "Varnish and Fastly"},
		{text: "the requested URL could not be retrieved", kind: fault.Unavailable, reason: "Squid"},
		{text: "application failed to respond", kind: fault.Unavailable, reason: "Railway"},
		{text: "FUNCTION_INVOCATION_TIMEOUT", kind: fault.UpstreamTimeout, reason: "Vercel"},
		{text: "FUNCTION_INVOCATION_FAILED", kind: fault.Unavailable, reason: "Vercel"},
		{text: "FUNCTION_THROTTLED", kind: fault.Overloaded, reason: "Vercel"},
		{text: "FUNCTION_PAYLOAD_TOO_LARGE", kind: fault.TooLong, reason: "Vercel"},
		{text: "DEPLOYMENT_NOT_FOUND", kind: fault.Invalid, reason: "Vercel"},
		{text: "blocked in accordance with company policy", kind: fault.Refused, reason: "a company's filter, also with 503"},
		{text: "web filter violation", kind: fault.Refused, reason: "a company's filter"},
		{text: "Fastly error: unknown domain", kind: fault.Invalid, reason: "500, but the host is not Fastly's"},
		{text: "is offline * ERR_NGROK_3200", kind: fault.Unknown, reason: "404, but a tunnel that may come back"},
		{text: "the server encountered a temporary error", kind: fault.Unavailable, reason: "Google's front end, with a stated wait"},
	},
}

// isPage reports whether a body is a web page.
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

// pageText returns the visible text of a web page, from its first 16 KiB: without tags, scripts and styles,
// each piece once.
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

// afterTag returns what follows a tag; for scripts and styles, what follows their end.
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

package fault

import (
	"net/http"
	"strings"
)

// page is what web pages say that stand where an API's answer should be:
// Cloudflare's, nginx's, Envoy's and those of other gateways.
var page = table{
	vendor: "page",
	says: []row{
		{says: "Just a moment...", kind: Refused, why: "Cloudflare wants a browser"},
		{says: "Attention Required! | Cloudflare", kind: Refused, why: "Cloudflare blocks the caller"},
		{says: "Sorry, you have been blocked", kind: Refused, why: "Cloudflare blocks the caller"},
		{says: "Enable JavaScript and cookies to continue", kind: Refused, why: "Cloudflare wants a browser"},
		{says: "Checking your browser before accessing", kind: Refused, why: "Cloudflare wants a browser"},
		{says: "Access denied * used Cloudflare to restrict access", kind: Refused, why: "Cloudflare 1020 and its kin"},
		{says: "error code: 1015", kind: RateLimited, why: "Cloudflare's rate limit"},
		{says: "You are being rate limited", kind: RateLimited, why: "Cloudflare's rate limit"},
		{says: "error code: 1020", kind: Refused, why: "Cloudflare's firewall"},
		{says: "error code: 1010", kind: Refused, why: "Cloudflare's bot check"},
		{says: "error code: 1009", kind: Refused, why: "Cloudflare: country banned"},
		{says: "error code: 1006", kind: Refused, why: "Cloudflare: address banned"},
		{says: "error code: 1033", kind: Unavailable, why: "Cloudflare's tunnel is down"},
		{says: "error code: 1016", kind: Unavailable, why: "Cloudflare cannot resolve the origin"},
		{says: "no healthy upstream", kind: Overloaded, why: "Envoy has nobody to ask"},
		{says: "upstream request timeout", kind: UpstreamTimeout, why: "Envoy's route timeout"},
		{says: "upstream connect error or disconnect/reset before headers * timeout", kind: UpstreamTimeout, why: "Envoy could not connect in time"},
		{says: "upstream connect error or disconnect/reset before headers", kind: Unavailable, why: "Envoy lost the upstream"},
		{says: "upstream reset before response started", kind: Unavailable, why: "Envoy lost the upstream"},
		{says: "the page you are looking for is currently unavailable", kind: Unavailable, why: "nginx's 50x page"},
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

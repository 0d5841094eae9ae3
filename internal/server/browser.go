package server

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// answerGuards are the headers of every answer that a browser may show, but the page's files. Upstreams answer at the same origin as the
// page and the API below /-/: nothing that they answer runs in a browser, is part of a page, or acts for the
// origin. Package gateway drops the headers by which it could.
func answerGuards() http.Header {
	return http.Header{
		"Content-Security-Policy":      {"sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		"X-Content-Type-Options":       {"nosniff"},
		"Referrer-Policy":              {"no-referrer"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
	}
}

// mayBeShown reports whether a browser may show the answer to a request, or make it a part of a page. What it shows
// is asked for by a link or a form, and a form cannot send JSON (HTML, "form submission attributes"). Neither can a
// fetch across origins without a preflight.
func mayBeShown(r *http.Request) bool {
	kind := r.Header["Content-Type"]
	return r.Method != http.MethodPost || len(kind) != 1 || !strings.HasPrefix(kind[0], "application/json")
}

// client is what has made a request.
type client int

const (
	program     client = iota // it names no origin
	ownPage                   // a page of this server, or the user of the browser
	listedPage                // a page of an origin in the configuration
	appPage                   // a page of an installed app, whose scheme no web site can have
	foreignPage               // any other page
)

// clientOf returns what has made a request. Browsers send Sec-Fetch-Site where they trust the connection: over TLS
// and on this machine. Elsewhere only Origin is left, which a GET for an image, say, does not have.
func (s *Server) clientOf(r *http.Request) client {
	origins, site := r.Header["Origin"], field(r, "Sec-Fetch-Site")
	switch {
	case site == "same-origin" || site == "none":
		return ownPage
	case len(origins) == 0 && site == "":
		return program
	case len(origins) != 1:
		return foreignPage
	case s.origins[origins[0]]:
		return listedPage
	}
	u, err := url.Parse(origins[0])
	switch {
	case err != nil || u.Scheme == "" || strings.HasSuffix(u.Scheme, "-extension"): // "null" is a page that hides its origin
		return foreignPage
	case u.Scheme != "http" && u.Scheme != "https":
		return appPage
	case site == "" && strings.EqualFold(u.Host, r.Host) && (r.TLS == nil || u.Scheme == "https"):
		return ownPage
	}
	return foreignPage
}

// passBrowser lets requests of programs and of permitted pages pass. False: it has answered.
func (s *Server) passBrowser(w http.ResponseWriter, r *http.Request) bool {
	client := s.clientOf(r)
	switch {
	case isPagePath(r):
		return true
	case client == foreignPage || client == appPage && isOurs(r):
		s.refusePage(w, r)
		return false
	case isResource(r):
		reject(w, r, http.StatusForbidden, "a browser can open or load nothing from this server but the page at %s; programs and fetch get this address", pagePath)
		return false
	case client == program:
		return true
	case client != ownPage:
		allowOrigin(w.Header(), r)
	}
	if isPreflight(r) {
		answerPreflight(w, r)
		return false
	}
	for name := range r.Header { // the page is the server's client, and the server the upstream's
		if name == "Origin" || strings.HasPrefix(name, "Sec-Fetch-") {
			delete(r.Header, name)
		}
	}
	return true
}

// isResource reports whether a browser opens the answer or makes it a part of a page, such as a script, rather
// than giving it to a script that has asked.
func isResource(r *http.Request) bool {
	switch field(r, "Sec-Fetch-Dest") {
	case "", "empty", "websocket":
		return field(r, "Service-Worker") != ""
	}
	return true
}

// field returns the first value of a header given by its canonical name, "" if there is none. Each request is asked
// for several.
func field(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// isPagePath reports whether a request is for the page or one of its files.
func isPagePath(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, pagePath) || r.URL.Path == strings.TrimSuffix(pagePath, "/")
}

// refusePage answers a request of a page that may not use the server.
func (s *Server) refusePage(w http.ResponseWriter, r *http.Request) {
	origin := rest.Clip(strings.Join(r.Header["Origin"], ", "))
	if logs, unlogged := s.refusedPages.count(time.Now()); logs {
		s.config.Log.Warn("request of a web page refused", "origin", origin, "from", r.RemoteAddr, "method", rest.Clip(r.Method), "path", rest.Clip(r.URL.Path), "unlogged", unlogged)
	}
	if origin == "" || origin == "null" {
		reject(w, r, http.StatusForbidden, "requests from pages of other sites are refused")
		return
	}
	reject(w, r, http.StatusForbidden, "requests from pages of other sites are refused; to permit this one, add %s to origins in the configuration", origin)
}

// isPreflight reports whether a browser asks for the permission of a request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowOrigin lets the page that has made a request read the answer.
func allowOrigin(h http.Header, r *http.Request) {
	h["Access-Control-Allow-Origin"] = r.Header["Origin"]
	h.Set("Access-Control-Expose-Headers", "*") // there are no cookies, so that this means all
	h.Add("Vary", "Origin")
}

// answerPreflight permits a request of a page. It needs no token: a preflight never has one, and the request
// itself does.
func answerPreflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Max-Age", "600")
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	if names := r.Header["Access-Control-Request-Headers"]; len(names) > 0 {
		h["Access-Control-Allow-Headers"] = names
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
}

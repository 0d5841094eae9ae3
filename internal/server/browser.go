package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// answerGuards are the headers of every answer that a browser may show, except the page's files. Upstreams answer
// at the same origin as the page and the API below /-/: nothing that they answer may run in a browser, be part of a
// page, or act for the origin. Package gateway drops the headers that would permit it.
func answerGuards() http.Header {
	return http.Header{
		"Content-Security-Policy":      {"sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		"X-Content-Type-Options":       {"nosniff"},
		"Referrer-Policy":              {"no-referrer"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
	}
}

// mayBeShown reports whether a browser may show the answer to a request, or make it part of a page. It does so for
// links and forms, and a form cannot send JSON (HTML, "form submission attributes"). Neither can a fetch across
// origins without a preflight.
func mayBeShown(r *http.Request) bool {
	kind := r.Header["Content-Type"]
	return r.Method != http.MethodPost || len(kind) != 1 || !strings.HasPrefix(kind[0], "application/json")
}

// client is the kind of program that has made a request.
type client int

const (
	program     client = iota // it names no origin
	ownPage                   // a page of this server, or the user of the browser
	listedPage                // a page of an origin in the configuration
	appPage                   // a page of an installed app, whose scheme no web site can have
	foreignPage               // any other page
)

// clientOf returns the kind of program that has made a request. Browsers send Sec-Fetch-Site where they trust the
// connection: over TLS and on this machine. Elsewhere only Origin is left, which a GET for an image, for example,
// does not have.
func (s *Server) clientOf(r *http.Request) client {
	origins, site := r.Header["Origin"], field(r, "Sec-Fetch-Site")
	switch {
	case site == "same-origin" || site == "none":
		return ownPage
	case len(origins) == 0 && site == "":
		return program
	case len(origins) != 1:
		return foreignPage
	case slices.Contains(s.config.Origins, origins[0]):
		return listedPage
	}
	u, err := url.Parse(origins[0])
	switch {
	case err != nil || u.Scheme == "" || u.Scheme == "file" || strings.HasSuffix(u.Scheme, "-extension"): // "null" hides the origin
		return foreignPage
	case u.Scheme != "http" && u.Scheme != "https":
		return appPage
	case site == "" && strings.EqualFold(u.Host, r.Host) && (r.TLS == nil || u.Scheme == "https"):
		return ownPage
	}
	return foreignPage
}

// passBrowser admits requests of programs and of permitted pages; false: it has answered.
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
	if r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
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

// isResource reports whether a browser opens the answer or makes it part of a page, such as an image, rather than
// returning it to a script.
func isResource(r *http.Request) bool {
	switch field(r, "Sec-Fetch-Dest") {
	case "", "empty", "websocket":
		return field(r, "Service-Worker") != ""
	}
	return true
}

// field returns the first value of a header given by its canonical name, or "". Each request needs several.
func field(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func isPagePath(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, pagePath) || r.URL.Path == strings.TrimSuffix(pagePath, "/")
}

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

func allowOrigin(h http.Header, r *http.Request) {
	h["Access-Control-Allow-Origin"] = r.Header["Origin"]
	h.Set("Access-Control-Expose-Headers", "*") // there are no cookies, so that this means all
	h.Add("Vary", "Origin")
}

// answerPreflight permits a request of a page. It needs no token: a preflight never has one, and the request itself
// does.
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

// isNamed reports whether a host is a name of this server. A web page whose name resolves to this machine (DNS
// rebinding) must not reach it. Such a page can have any name but ours, and no address but its own.
func (s *Server) isNamed(host string, r *http.Request) bool {
	host = hostname(strings.ToLower(host))
	if host == "localhost" || slices.ContainsFunc(s.config.Hosts, func(own string) bool { return hostname(strings.ToLower(own)) == host }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip = ip.Unmap(); ip.IsLoopback() {
		return true
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && ip == at.AddrPort().Addr().Unmap()
}

// hostname returns a host without its port, brackets and final dot.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") && (host[0] == '[' || strings.Count(host, ":") == 1) {
		host = host[:i]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(host, ".")
}

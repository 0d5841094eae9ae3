package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// named tells whether a host is a name of this server. A web page whose own
// name was pointed at this machine (DNS rebinding) must not reach it; such a
// page can have any name but ours, and no bare address but its own.
func (s *Server) named(host string, r *http.Request) bool {
	host = hostname(strings.ToLower(host))
	if host == "localhost" || s.hosts[host] {
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

// hostname takes the port, the brackets and the final dot from a host.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") && (host[0] == '[' || strings.Count(host, ":") == 1) {
		host = host[:i]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(host, ".")
}

// foreign tells whether a page of another web site has made the request. It
// needs no right answer to do harm where the gateway has a key of its own.
// Programs send no Origin, and apps that do have a scheme of their own.
func (s *Server) foreign(r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) == 0 { // a GET for an image has none, but the browser says where it is from
		return r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate"
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Scheme == "" {
		return true // "null": a page that hides where it is from
	}
	return (u.Scheme == "http" || u.Scheme == "https") && !s.named(u.Host, r)
}

// misdirected answers a request that names another host.
func (s *Server) misdirected(w http.ResponseWriter, r *http.Request) {
	reject(w, r, http.StatusMisdirectedRequest, "it does not answer for the host %q; use localhost or 127.0.0.1, or add the name to the hosts of its configuration", clip(r.Host))
}

// clip bounds what a client has sent where it is shown or logged.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), 128)], "") }

package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// isNamed reports whether a host is a name of this server. A web page whose name was pointed at this machine
// (DNS rebinding) must not reach it: such a page can have any name but ours, and no address but its own.
//
//go:noinline its frame would be on the stack of every request that waits
func (s *Server) isNamed(host string, r *http.Request) bool {
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

// hostname returns a host without its port, brackets and final dot.
func hostname(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") && (host[0] == '[' || strings.Count(host, ":") == 1) {
		host = host[:i]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.TrimSuffix(host, ".")
}

// refuseHost answers a request for another host.
func (s *Server) refuseHost(w http.ResponseWriter, r *http.Request) {
	reject(w, r, http.StatusMisdirectedRequest, "this server does not answer for the host %q; use localhost or 127.0.0.1, or add the name to hosts in its configuration", rest.Clip(r.Host))
}

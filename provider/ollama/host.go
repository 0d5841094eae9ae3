package ollama

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/provider"
)

// ParseHost parses a server's address in the forms of OLLAMA_HOST: with or without a scheme, a port or a
// host. An address for all interfaces is one to listen at; a client connects to the loopback.
func ParseHost(host string) (*url.URL, error) {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	scheme, rest, stated := strings.Cut(host, "://")
	if !stated {
		scheme, rest = "http", host
	}
	if ip := net.ParseIP(rest); ip != nil && ip.To4() == nil {
		rest = "[" + rest + "]"
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return nil, invalidRequest("the address "+strconv.Quote(host)+" is not that of a server: want host:port or http://host:port", err)
	}
	name, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	switch {
	case !stated && host == "ollama.com":
		u.Scheme = "https"
	case !stated && port == "":
		port = "11434"
	}
	u.Host = name
	if port != "" {
		u.Host = net.JoinHostPort(name, port)
	} else if strings.Contains(name, ":") {
		u.Host = "[" + name + "]"
	}
	return u, provider.CheckURL(u.String())
}

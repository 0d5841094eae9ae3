package config

import (
	"errors"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/dialect"
)

// unlimited is a limit that never expires.
const unlimited time.Duration = math.MaxInt64

// apis lists the APIs that upstreams may have.
func apis() []string { return []string{"anthropic", "gemini", "openai", "ollama", "lmstudio"} }

// parseBase reads the base URL of an upstream. Its errors do not repeat it,
// since it may hold a password or a key.
func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("want a base URL with http:// or https:// and a host, such as http://127.0.0.1:8485")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a base URL has no user, query or fragment; credentials are the client's, or a key of the upstream")
	case dialect.Of(http.MethodPost, u.Path) != nil:
		return nil, errors.New(u.Path + " is an endpoint; want the base URL before it")
	}
	return u, nil
}

// local tells whether a host is a name of this machine for itself.
func local(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

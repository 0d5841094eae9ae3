package recipe

import (
	"cmp"
	"slices"
	"strings"
)

// here are the names of this machine, of which a proxy knows nothing.
var here = []string{"127.0.0.1", "localhost"}

// Direct returns the variables with which a program that uses a proxy reaches a gateway on this machine without it.
// It returns none where no proxy is set.
func Direct(env func(string) string) map[string]string {
	proxied := false
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		proxied = proxied || env(name) != "" || env(strings.ToLower(name)) != ""
	}
	if !proxied {
		return nil
	}
	const upper, lower = "NO_PROXY", "no_proxy" // programs read one or the other first
	return map[string]string{upper: withHere(cmp.Or(env(upper), env(lower))), lower: withHere(cmp.Or(env(lower), env(upper)))}
}

// withHere adds the names of this machine to a list of hosts that are reached without a proxy.
func withHere(list string) string {
	hosts := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range here {
		if !slices.Contains(hosts, name) && !slices.Contains(hosts, "*") {
			hosts = append(hosts, name)
		}
	}
	return strings.Join(hosts, ",")
}

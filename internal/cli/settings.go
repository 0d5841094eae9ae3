package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ridethrough/ridethrough/dialect"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// setting is a flag that the environment can set as well: --listen is
// RIDETHROUGH_LISTEN. The flag wins.
func setting(cmd *cobra.Command, s Streams, name string, set func(string) error) error {
	if flag := cmd.Flags().Lookup(name); flag.Changed {
		if err := set(flag.Value.String()); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		return nil
	}
	variable := "RIDETHROUGH_" + strings.ToUpper(name)
	if value := s.Env(variable); value != "" {
		if err := set(value); err != nil {
			return misconfigured(variable, err)
		}
	}
	return nil
}

// upstreams reads --upstream NAME=URL and RIDETHROUGH_UPSTREAM_NAME.
func upstreams(s Streams, flags []string) (map[string]*url.URL, error) {
	all := map[string]*url.URL{}
	for _, name := range gateway.APIs() {
		variable := "RIDETHROUGH_UPSTREAM_" + strings.ToUpper(name)
		value := s.Env(variable)
		if value == "" {
			continue
		}
		base, err := baseURL(value)
		if err != nil {
			return nil, misconfigured(variable, err)
		}
		all[name] = base
	}
	for _, flag := range flags {
		name, value, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, errors.New("--upstream: want NAME=URL, such as anthropic=http://127.0.0.1:8485")
		}
		if !slices.Contains(gateway.APIs(), name) {
			return nil, fmt.Errorf("--upstream: none is named %q; there are %s", name, list(gateway.APIs()))
		}
		base, err := baseURL(value)
		if err != nil {
			return nil, fmt.Errorf("--upstream %s: %w", name, err)
		}
		all[name] = base
	}
	return all, nil
}

// baseURL reads the URL of an upstream. Its errors do not repeat it, since it
// may hold a password or a key.
func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("want a base URL with http:// or https:// and a host, such as http://127.0.0.1:8485")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a base URL has no user, query or fragment; credentials are the client's")
	case dialect.Of(http.MethodPost, u.Path) != nil:
		return nil, fmt.Errorf("%s is an endpoint; want the base URL before it", u.Path)
	}
	return u, nil
}

// preset finds a policy by its name.
func preset(name string) (policy.Policy, error) {
	p, ok := policy.Preset(name)
	if !ok {
		return p, fmt.Errorf("no policy is named %q; there are %s", name, list(policy.Presets()))
	}
	return p, nil
}

// loopback checks an address to listen on. Whoever reaches the gateway can use
// what it forwards to, so it stays on this machine.
func loopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no address; want HOST:PORT, such as 127.0.0.1:8484", addr)
	}
	if !isLocal(host) {
		return fmt.Errorf("%q is open to other machines; want an address of this one, such as 127.0.0.1:8484, with a proxy in front that asks for credentials if others are to use it", addr)
	}
	return nil
}

// listen opens an address; its errors say what to do.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use; stop what listens there or choose another address with --listen", addr)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --listen", addr, err)
}

// list writes names for people: "a, b and c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// Dial uses a cluster that is there already.
func Dial(ctx context.Context, r Remote) (Store, error) {
	opts := steady()
	if r.Credentials != "" {
		opts = append(opts, nats.UserCredentials(r.Credentials))
	}
	if r.TLS != nil {
		opts = append(opts, nats.Secure(r.TLS))
	}
	nc, err := nats.Connect(r.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := recent(nc.ConnectedServerVersion()); err != nil {
		nc.Close()
		return nil, err
	}
	s, err := start(ctx, nc, form{replicas: r.Replicas, lease: leaseOr(r.Lease)}, nil)
	if err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

// recent wants a server that knows all that we ask for.
func recent(version string) error {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	if err != nil || err2 != nil || major < 2 || major == 2 && minor < 14 {
		return fmt.Errorf("%w: it needs NATS 2.14 or later, and the server is %q", ErrVersion, version)
	}
	return nil
}

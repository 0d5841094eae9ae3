// Package nats implements package store on NATS JetStream, as a client of servers that the user runs.
package nats

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/internal/limit"
)

var (
	// ErrFormat reports a store that another version has written, in a format that this version cannot read.
	ErrFormat = errors.New("the store has another format")
	// ErrVersion reports that a NATS server is too old.
	ErrVersion = errors.New("the NATS server is too old")
	// ErrNone reports that NATS servers have no store.
	ErrNone = errors.New("no conversations on the NATS servers")
)

// MaxReplicas is how many servers can have a copy of a stream.
const MaxReplicas = 5

// Remote configures the use of NATS servers of version 2.14 or later. Their JetStream needs "sync_interval:
// always", which a client cannot check: without it, a power failure loses acknowledged writes.
type Remote struct {
	URL         string        // "nats://host:4222", or several with commas
	Credentials string        // name of a credentials file; "": only those in the URL
	TLS         *tls.Config   // nil: as the URL and the servers require
	Existing    bool          // nothing is created or changed; without a store there: ErrNone
	Replicas    int           // of everything; 0: one on each server, up to 3, and never fewer than there are
	Lease       time.Duration // how long a lease lasts without Extend; 0: 30 s
	Log         *slog.Logger  // for the state of the connection and what servers have lost; nil: none
}

// Dial uses the store on remote servers, or creates it there.
func Dial(ctx context.Context, r Remote) (store.Store, error) {
	return r.dial(ctx, requestTimeout)
}

func (r Remote) dial(ctx context.Context, timeout time.Duration) (store.Store, error) {
	options := connectionOptions(timeout)
	if r.Credentials != "" {
		options = append(options, nats.UserCredentials(r.Credentials))
	}
	if r.TLS != nil {
		options = append(options, nats.Secure(r.TLS))
	}
	nc, err := nats.Connect(r.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	b, err := r.connect(ctx, nc, timeout)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("open store on NATS servers: %w", err)
	}
	return b, nil
}

func (r Remote) connect(ctx context.Context, nc *nats.Conn, timeout time.Duration) (*backend, error) {
	if err := checkVersion(nc.ConnectedServerVersion()); err != nil {
		return nil, err
	}
	r.Lease, r.Log = cmp.Or(r.Lease, limit.Lease), cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	return newBackend(ctx, nc, r, timeout)
}

// connectionOptions make a connection reconnect forever, even if credentials are refused meanwhile. Without a
// connection nothing is kept for later: what failed must not be sent after all. The empty error handler keeps
// the library from writing to standard error. The intervals notice within a timeout that servers no longer answer.
func connectionOptions(timeout time.Duration) []nats.Option {
	return []nats.Option{
		nats.Name("ridethrough"), nats.MaxReconnects(-1), nats.ReconnectWait(retryDelay), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(timeout / 3), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(timeout / 3),
		nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

// checkVersion refuses servers without the features that the streams need.
func checkVersion(version string) error {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	if err != nil || err2 != nil || major < 2 || major == 2 && minor < 14 {
		return fmt.Errorf("%w: version %q, want 2.14 or later", ErrVersion, version)
	}
	return nil
}

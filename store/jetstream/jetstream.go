// Package jetstream implements package store on NATS JetStream: on a server inside this process that stores
// in a directory and listens nowhere ([Open]), or on remote servers ([Dial]). It is the only package that links
// a NATS server.
//
// It has many files: one for each part of the contract, and those that check a directory before the server
// reads it.
package jetstream

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

// Config configures a store in a directory of this machine.
type Config struct {
	Dir   string // created if it does not exist, for this user only
	Bytes int64  // what the store may hold; 0: what the disk has free at the start
	// Reserve is how many bytes new jobs must leave free on the disk; 0: 256 MiB.
	// Turns in progress may use three quarters of them.
	Reserve int64
	Lease   time.Duration // how long a lease lasts without Extend; 0: 30 s
	Log     *slog.Logger  // for the server's warnings and errors; nil: none
}

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

// Open opens the store in a directory, or creates it. A second process gets store.ErrInUse.
func Open(ctx context.Context, c Config) (store.Store, error) {
	r, err := Reserve(c)
	if err != nil {
		return nil, err
	}
	return r.Open(ctx)
}

// connect returns a back end on the embedded server.
func (s *embeddedServer) connect(ctx context.Context, c Config) (*backend, error) {
	options := streamOptions{replicas: 1, lease: cmp.Or(c.Lease, limit.Lease), timeout: requestTimeout, log: orDiscard(c.Log)}
	connection := append(connectionOptions(), nats.InProcessServer(s))
	nc, err := nats.Connect("", connection...)
	if err != nil {
		return nil, translate(ctx, err)
	}
	s.reconnect = nc.ForceReconnect
	b, err := newBackend(ctx, nc, options, s)
	if err != nil {
		nc.Close()
	}
	return b, err
}

// Dial uses the store on remote servers, or creates it there.
func Dial(ctx context.Context, r Remote) (store.Store, error) {
	return r.dial(ctx, requestTimeout)
}

func (r Remote) dial(ctx context.Context, timeout time.Duration) (store.Store, error) {
	options := append(connectionOptions(), remoteOptions(timeout)...)
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
	return newBackend(ctx, nc, streamOptions{
		existing: r.Existing, replicas: r.Replicas, lease: cmp.Or(r.Lease, limit.Lease), timeout: timeout, log: orDiscard(r.Log),
	}, nil)
}

// orDiscard returns a logger that is never nil.
func orDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

// connectionOptions make a connection reconnect forever, even if credentials are refused meanwhile. Without a
// connection nothing is kept for later: what failed must not be sent after all. The empty error handler keeps
// the library from writing to standard error.
func connectionOptions() []nats.Option {
	return []nats.Option{
		nats.Name("ridethrough"), nats.MaxReconnects(-1), nats.ReconnectWait(retryDelay), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

// remoteOptions notice within a timeout that servers no longer answer.
func remoteOptions(timeout time.Duration) []nats.Option {
	return []nats.Option{nats.PingInterval(timeout / 3), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(timeout / 3)}
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

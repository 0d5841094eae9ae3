package store

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Config says how to keep a store in a directory of this machine.
type Config struct {
	Dir     string        // where the store is; made if it is not there, readable for nobody else
	Bytes   int64         // what the store may hold; 0: what the disk has free at the start
	Reserve int64         // what must be free on the disk for new turns to be accepted; those that are under way may use up three quarters of it; 0: 256 MiB
	Lease   time.Duration // how long a claim holds without a sign of life; 0: 30 s
	Cluster *Cluster      // nil: this process is alone, and opens no socket
	Log     *slog.Logger  // what the server warns of; nil: nobody is told
}

// Cluster makes a store one of several, each with the whole of it or a part.
// All nodes need the same name and secret.
type Cluster struct {
	Name     string
	Node     string      // this node's name; no other has it
	Listen   string      // where the other nodes find it: host:port
	Peers    []string    // where it finds other nodes: host:port
	Clients  string      // where clients that are no nodes find it: host:port
	Secret   string      // who knows it may do everything; clients say it with the user "ridethrough"
	TLS      *tls.Config // nil: what is said can be read on the way; for loopback only
	Replicas int         // on how many nodes everything is kept; 0: 3
}

// Remote says how to use a cluster that is there already, of NATS servers 2.14
// or later. Its JetStream needs "sync_interval: always": without, a power
// failure takes back what was acknowledged, and nobody can see that from here.
type Remote struct {
	URL         string        // "nats://host:4222", or several with commas
	Credentials string        // a file of credentials; "": none but those in the URL
	TLS         *tls.Config   // nil: as the URL and the servers ask for
	Replicas    int           // on how many servers everything is kept; 0: as it is, and on one for what is new
	Lease       time.Duration // how long a claim holds without a sign of life; 0: 30 s
}

// Open opens the store in a directory, and makes it if there is none. Only one
// process at a time may have it.
func Open(ctx context.Context, c Config) (Store, error) {
	h, err := run(c)
	if err != nil {
		return nil, err
	}
	s, err := h.connect(ctx, c)
	if err != nil {
		_ = h.stop()
		return nil, err
	}
	return s, nil
}

// connect makes an engine on a server of our own.
func (h *host) connect(ctx context.Context, c Config) (*store, error) {
	f := form{lease: leaseOr(c.Lease), alone: c.Cluster == nil}
	opts := append(steady(), nats.InProcessServer(h))
	if c.Cluster != nil {
		f.replicas = c.Cluster.Replicas
		if f.replicas == 0 {
			f.replicas = 3
		}
		opts = append(opts, nats.UserInfo(user, c.Cluster.Secret))
	}
	nc, err := nats.Connect("", opts...)
	if err != nil {
		return nil, explain(ctx, err)
	}
	h.renew = nc.ForceReconnect
	s, err := start(ctx, nc, f, h)
	if err != nil {
		nc.Close()
	}
	return s, err
}

// steady are the options of a connection that is made again as often as it
// takes. What the library would write to standard error is found out otherwise.
func steady() []nats.Option {
	return []nats.Option{
		nats.Name("ridethrough"), nats.MaxReconnects(-1), nats.ReconnectWait(again),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

// leaseOr is a lease, or the usual one.
func leaseOr(d time.Duration) time.Duration {
	if d == 0 {
		return lease
	}
	return d
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	user        = "ridethrough"
	startWithin = time.Minute // a store of a million parked turns is there after four seconds
	shareMemory = 64 << 20    // what facts may hold, with room for what else is in memory
)

// host is a server in this process, on a directory of its own.
type host struct {
	server *server.Server
	dir    directory
	guard  guard
	sync   time.Duration // what it took to make a write last
}

// run starts a server.
func run(c Config) (*host, error) {
	dir, err := occupy(c.Dir, c.Cluster != nil)
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir}
	if err := h.start(c); err != nil {
		return nil, errors.Join(err, dir.release())
	}
	return h, nil
}

func (h *host) start(c Config) (err error) {
	if h.sync, err = measure(c.Dir); err != nil {
		return err
	}
	if h.guard, err = newGuard(c); err != nil {
		return err
	}
	opts, err := options(c, h.guard.limit)
	if err != nil {
		return err
	}
	if h.server, err = server.NewServer(opts); err != nil {
		return err
	}
	if c.Log != nil {
		h.server.SetLoggerV2(journalist{c.Log}, false, false, false)
	}
	h.server.Start()
	if !h.server.ReadyForConnections(startWithin) || !h.server.JetStreamEnabled() {
		h.server.Shutdown()
		return fmt.Errorf("%w: the store in %s does not open", ErrUnavailable, c.Dir)
	}
	return nil
}

// options are those of the server. Every write is on the disk before it is
// acknowledged: without that, a power failure takes back what was promised.
func options(c Config, limit int64) (*server.Options, error) {
	o := &server.Options{
		JetStream: true, StoreDir: filepath.Join(c.Dir, "store"), SyncAlways: true,
		JetStreamMaxStore: limit, JetStreamMaxMemory: shareMemory,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
		NoSigs:          true, NoLog: c.Log == nil, DisableJetStreamBanner: true,
		DontListen: true, ServerName: "ridethrough",
	}
	if c.Cluster == nil {
		return o, nil
	}
	return o, c.Cluster.join(o)
}

// join makes a server a node.
func (c *Cluster) join(o *server.Options) (err error) {
	if c.Name == "" || c.Node == "" || c.Secret == "" {
		return fmt.Errorf("%w: a cluster needs a name, a name of the node and a secret", ErrInvalid)
	}
	o.DontListen, o.ServerName, o.Username, o.Password = false, c.Node, user, c.Secret
	o.TLSConfig, o.TLS = c.TLS, c.TLS != nil
	if o.Host, o.Port, err = address(c.Clients); err != nil {
		return err
	}
	o.Cluster = server.ClusterOpts{Name: c.Name, Username: user, Password: c.Secret, TLSConfig: c.TLS, NoAdvertise: true}
	if o.Cluster.Host, o.Cluster.Port, err = address(c.Listen); err != nil {
		return err
	}
	for _, peer := range c.Peers {
		if _, _, err := address(peer); err != nil {
			return err
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: peer, User: url.UserPassword(user, c.Secret)})
	}
	return nil
}

// address reads a host and a port.
func address(s string) (string, int, error) {
	host, service, err := net.SplitHostPort(s)
	port, portErr := strconv.ParseUint(service, 10, 16)
	if err != nil || portErr != nil || host == "" || port == 0 {
		return "", 0, fmt.Errorf("%w: %q is no host:port", ErrInvalid, s)
	}
	return host, int(port), nil
}

// stop ends the server, and gives the directory back.
func (h *host) stop(context.Context) error {
	h.server.Shutdown()
	h.server.WaitForShutdown()
	return h.dir.release()
}

// measure writes and syncs a little, a few times, and gives the best: what the
// disk takes when nobody else wants it.
func measure(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "sync-*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	best := time.Duration(math.MaxInt64)
	for range 3 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 4<<10)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(began))
	}
	return best, nil
}

// journalist writes what the server says into a log.
type journalist struct{ log *slog.Logger }

func (j journalist) Noticef(string, ...any) {}
func (j journalist) Debugf(string, ...any)  {}
func (j journalist) Tracef(string, ...any)  {}

func (j journalist) Warnf(format string, args ...any)  { j.log.Warn(fmt.Sprintf(format, args...)) }
func (j journalist) Errorf(format string, args ...any) { j.log.Error(fmt.Sprintf(format, args...)) }
func (j journalist) Fatalf(format string, args ...any) { j.log.Error(fmt.Sprintf(format, args...)) }

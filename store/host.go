package store

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
	"strings"
	"sync"
	"sync/atomic"
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
	dir     directory
	guard   guard
	witness *witness
	sync    time.Duration // what it took to make a write last
	opts    *server.Options
	log     journalist

	mu     sync.Mutex
	server *server.Server // the one that runs
	renew  func() error   // has the client connect with it
}

// run starts a server.
func run(c Config) (*host, error) {
	dir, err := occupy(c.Dir, c.Cluster != nil)
	if err != nil {
		return nil, err
	}
	h := &host{dir: dir, log: journalist{c.Log, &atomic.Bool{}}}
	if err := h.prepare(c); err != nil {
		return nil, errors.Join(err, dir.release())
	}
	if err := h.start(); err != nil {
		return nil, errors.Join(err, h.witness.close(), dir.release())
	}
	return h, nil
}

// prepare finds out about the disk.
func (h *host) prepare(c Config) (err error) {
	if h.sync, err = measure(c.Dir); err != nil {
		return err
	}
	if h.guard, err = newGuard(c); err != nil {
		return err
	}
	if h.opts, err = options(c, h.guard.limit); err != nil {
		return err
	}
	h.witness, err = newWitness(c.Dir)
	return err
}

// start starts a server, and waits until it is ready.
func (h *host) start() error {
	s, err := server.NewServer(h.opts)
	if err != nil {
		return err
	}
	s.SetLoggerV2(h.log, false, false, false)
	s.Start()
	if !s.ReadyForConnections(startWithin) || !s.JetStreamEnabled() {
		s.Shutdown()
		return fmt.Errorf("%w: the store in %s does not open", ErrUnavailable, h.guard.dir)
	}
	h.server = s
	return nil
}

// InProcessConn connects with the server that runs now.
func (h *host) InProcessConn() (net.Conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.server.InProcessConn()
}

// heal starts the server anew after a write has failed: until then it takes no
// more of them, even when there is room again. The client is told after the
// lock is given back, which it wants when it connects.
func (h *host) heal() error {
	anew, err := h.restart()
	if err != nil || !anew {
		return err
	}
	return h.renew()
}

// restart starts the server anew if that is still needed.
func (h *host) restart() (anew bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.log.broken.Load() {
		return false, nil
	}
	h.server.Shutdown()
	h.server.WaitForShutdown()
	if err := h.start(); err != nil {
		return false, err
	}
	h.log.broken.Store(false)
	return true, nil
}

// options are those of the server. Every write is on the disk before it is
// acknowledged: without that, a power failure takes back what was promised.
func options(c Config, limit int64) (*server.Options, error) {
	o := &server.Options{
		JetStream: true, StoreDir: filepath.Join(c.Dir, "store"), SyncAlways: true,
		JetStreamMaxStore: limit, JetStreamMaxMemory: shareMemory,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
		NoSigs:          true, DisableJetStreamBanner: true,
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
func (h *host) stop() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server.Shutdown()
	h.server.WaitForShutdown()
	return errors.Join(h.witness.close(), h.dir.release())
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

// journalist writes what the server says into a log, and notices when a write
// has failed.
type journalist struct {
	log    *slog.Logger // nil: nobody reads it
	broken *atomic.Bool
}

func (j journalist) Noticef(string, ...any) {}
func (j journalist) Debugf(string, ...any)  {}
func (j journalist) Tracef(string, ...any)  {}

func (j journalist) Warnf(format string, args ...any)  { j.say(slog.LevelWarn, format, args) }
func (j journalist) Errorf(format string, args ...any) { j.say(slog.LevelError, format, args) }
func (j journalist) Fatalf(format string, args ...any) { j.say(slog.LevelError, format, args) }

func (j journalist) say(level slog.Level, format string, args []any) {
	said := fmt.Sprintf(format, args...)
	if strings.Contains(strings.ToLower(said), "critical write error") {
		j.broken.Store(true)
	}
	if j.log != nil {
		j.log.Log(context.Background(), level, said)
	}
}

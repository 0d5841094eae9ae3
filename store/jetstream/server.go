package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ridethrough/ridethrough/store/internal/disk"
)

const (
	startTimeout = 5 * time.Minute // a store of a million scheduled jobs opens in four seconds, but disks differ
	stopTimeout  = 5 * time.Second // of a server that is to stop while it starts
	memoryLimit  = 64 << 20        // of entries and of the server's other streams in memory
)

// embeddedServer is a NATS server in this process, on a directory of its own.
type embeddedServer struct {
	dir         directory
	capacity    capacity
	watermarks  *watermarks
	heads       *heads    // nil until the losses are noted
	checked     []checked // the streams' files, until their losses are noted
	syncLatency time.Duration
	options     *server.Options
	log         serverLog

	mu        sync.Mutex
	server    *server.Server // the current one; nil: it has not been started
	reconnect func() error   // connects the client with the current server
}

// newServer returns a server on a directory that it locks. It does not run.
func newServer(c Config) (*embeddedServer, error) {
	dir, err := openDirectory(c.Dir)
	if err != nil {
		return nil, err
	}
	s := &embeddedServer{dir: dir, log: serverLog{c.Log, &atomic.Bool{}}}
	if err := s.prepare(c); err != nil {
		return nil, errors.Join(err, dir.unlock())
	}
	return s, nil
}

// run checks the directory and starts the server. If that fails, the directory is unlocked.
func (s *embeddedServer) run(ctx context.Context, c Config) error {
	if err := s.checkAndRepair(ctx, c); err != nil {
		return errors.Join(err, s.release())
	}
	return s.start(ctx, s.release)
}

// prepare inspects the disk and sets the server's options.
func (s *embeddedServer) prepare(c Config) (err error) {
	if err := checkZone(time.Now()); err != nil {
		return err
	}
	if s.syncLatency, err = disk.SyncLatency(c.Dir); err != nil {
		return err
	}
	if s.capacity, err = newCapacity(c); err != nil {
		return err
	}
	s.options = serverOptions(c, s.capacity.maxBytes)
	s.watermarks, err = openWatermarks(c.Dir)
	return err
}

// checkZone returns an error for a local time with a zone that the server cannot write: it says then that JetStream is not
// enabled.
func checkZone(now time.Time) error {
	if _, err := now.MarshalText(); err != nil {
		name, offset := now.Zone()
		return fmt.Errorf("the local time zone %s is %v from UTC, where a day is too much: set TZ, such as to UTC", name, time.Duration(offset)*time.Second)
	}
	return nil
}

// start starts the server and waits until it is ready. If that fails, failed is called as soon as the server
// has stopped.
func (s *embeddedServer) start(ctx context.Context, failed func() error) error {
	started, err := server.NewServer(s.options)
	if err != nil {
		return errors.Join(err, failed())
	}
	started.SetLoggerV2(s.log, false, false, false)
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the server on %s has not started within %v", s.capacity.dir, startTimeout))
	defer cancel()
	ready := make(chan bool, 1)
	go func() { // a server that is starting obeys nothing: it may outlive the call
		started.Start()
		ready <- started.ReadyForConnections(startTimeout) && started.JetStreamEnabled()
	}()
	select {
	case ok := <-ready:
		if ok {
			s.server = started
			return nil
		}
		shutDown(started)
		return errors.Join(fmt.Errorf("the server on %s does not start", s.capacity.dir), failed())
	case <-ctx.Done():
		ended := make(chan error, 1)
		go func() { <-ready; shutDown(started); ended <- failed() }()
		return errors.Join(context.Cause(ctx), await(ended, stopTimeout))
	}
}

// await waits for an error, but not longer than d.
func await(ended <-chan error, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return nil
	}
}

func shutDown(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// release lets another process have the directory.
func (s *embeddedServer) release() error {
	return errors.Join(s.watermarks.close(), s.heads.close(), s.dir.unlock())
}

// InProcessConn connects with the current server.
func (s *embeddedServer) InProcessConn() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server.InProcessConn()
}

// restartAfterFailure restarts the server after a failed write: until then it refuses all writes, even if
// there is space again. The client reconnects after the lock is released, because InProcessConn takes it.
func (s *embeddedServer) restartAfterFailure() error {
	restarted, err := s.restart()
	if err != nil || !restarted {
		return err
	}
	return s.reconnect()
}

// restart restarts the server if that is still necessary.
func (s *embeddedServer) restart() (restarted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.log.writeFailed.Load() {
		return false, nil
	}
	shutDown(s.server)
	if err := s.start(context.Background(), func() error { return nil }); err != nil {
		return false, err
	}
	s.log.writeFailed.Store(false)
	return true, nil
}

// serverOptions syncs every write before it is acknowledged: otherwise a power
// failure loses acknowledged writes.
func serverOptions(c Config, maxBytes int64) *server.Options {
	return &server.Options{
		JetStream: true, StoreDir: filepath.Join(c.Dir, dataName), SyncAlways: true,
		JetStreamMaxStore: maxBytes, JetStreamMaxMemory: memoryLimit,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1},
		NoSigs:          true, DisableJetStreamBanner: true,
		DontListen: true, ServerName: "ridethrough",
	}
}

// stop stops the server and unlocks the directory.
func (s *embeddedServer) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	shutDown(s.server)
	err := os.WriteFile(filepath.Join(s.capacity.dir, cleanName), nil, 0o600)
	return errors.Join(err, s.release())
}

// serverLog passes the server's warnings and errors on, and notices when a write has failed.
type serverLog struct {
	log         *slog.Logger // nil: none
	writeFailed *atomic.Bool
}

// Noticef implements server.Logger.
func (l serverLog) Noticef(string, ...any) {}

// Debugf implements server.Logger.
func (l serverLog) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l serverLog) Tracef(string, ...any) {}

// Warnf implements server.Logger. It leaves out that the server reads the instants of jobs from the messages,
// which it has to at every start: the check has deleted the files that had them without a checksum.
func (l serverLog) Warnf(format string, args ...any) {
	if !strings.Contains(format, "attempting to recover using linear scan") {
		l.write(slog.LevelWarn, format, args)
	}
}

// Errorf implements server.Logger.
func (l serverLog) Errorf(format string, args ...any) { l.write(slog.LevelError, format, args) }

// Fatalf implements server.Logger.
func (l serverLog) Fatalf(format string, args ...any) { l.write(slog.LevelError, format, args) }

func (l serverLog) write(level slog.Level, format string, args []any) {
	text := fmt.Sprintf(format, args...)
	if strings.Contains(strings.ToLower(text), "critical write error") {
		l.writeFailed.Store(true)
	}
	if l.log != nil {
		l.log.Log(context.Background(), level, text)
	}
}

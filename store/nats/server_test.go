package nats_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
)

// natsServer is a NATS server that comes and goes at one address.
type natsServer struct {
	t       *testing.T
	options server.Options
	running *server.Server // nil: it is away
}

func newNATSServer(t *testing.T) *natsServer {
	t.Helper()
	n := &natsServer{t: t, options: *natstest.Options(t.TempDir())}
	n.options.Port = natstest.Ports(t, 1)[0]
	t.Cleanup(n.stop)
	n.start()
	return n
}

func (n *natsServer) start() {
	n.t.Helper()
	options := n.options
	s, err := natstest.Start(&options)
	if err != nil {
		n.t.Fatalf("start: %v", err)
	}
	n.running = s
}

func (n *natsServer) stop() {
	if n.running != nil {
		natstest.Stop(n.running)
		n.running = nil
	}
}

func (n *natsServer) url() string { return natstest.URL(n.options.Port) }

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// dialLogged uses servers until the test ends, and returns what is logged.
func dialLogged(t *testing.T, url string, timeout time.Duration) (store.Store, *syncBuffer) {
	t.Helper()
	logged := &syncBuffer{}
	r := nats.Remote{URL: url, Lease: shortLease, Log: slog.New(slog.NewTextHandler(logged, nil))}
	s, err := nats.DialWithTimeout(t.Context(), r, timeout)
	if err != nil {
		t.Fatalf("dial %s: %v", url, err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s, logged
}

// watchAll returns the entries that a watch yields until the test ends.
func watchAll(t *testing.T, ctx context.Context, s store.Store) (entries <-chan store.Entry, ended <-chan error) {
	t.Helper()
	all, end := make(chan store.Entry, 100), make(chan error, 1)
	go func() {
		for e, err := range s.Watch(ctx, "") {
			if err != nil {
				end <- err
				return
			}
			all <- e
		}
	}()
	return all, end
}

// patience is how long tests wait for what a server does by itself.
const patience = natstest.Patience

// next receives what comes within the tests' patience.
func next[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		t.Fatalf("%s: nothing within %v", what, patience)
	}
	return got
}

// eventually waits until something is true, within the tests' patience.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// putNew creates an entry.
func putNew(t *testing.T, s store.KV, key, value string) {
	t.Helper()
	if _, err := s.Put(t.Context(), store.Entry{Key: key, Value: []byte(value)}, time.Minute); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// proxy passes bytes on until it is paused: then connections stay open and nothing is answered.
type proxy struct {
	net.Listener
	to                string
	requests, answers *gate

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p := &proxy{Listener: l, to: to, requests: newGate(), answers: newGate()}
	t.Cleanup(func() { _ = l.Close(); p.pause(false) })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", p.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, from, to)
			p.mu.Unlock()
			go p.answers.copy(from, to)
			go p.requests.copy(to, from)
		}
	}()
	return p
}

func (p *proxy) pause(on bool) {
	p.requests.pause(on)
	p.answers.pause(on)
}

// drop ends all connections. What a pause holds back is lost, and new connections are not paused.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	p.pause(false)
}

// gate is one direction of a proxy.
type gate struct {
	mu     sync.Mutex
	paused chan struct{} // closed: it is not paused
}

func newGate() *gate {
	g := &gate{paused: make(chan struct{})}
	close(g.paused)
	return g
}

func (g *gate) pause(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.paused:
		if on {
			g.paused = make(chan struct{})
		}
	default:
		if !on {
			close(g.paused)
		}
	}
}

// copy copies bytes while it is not paused.
func (g *gate) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	_, _ = io.Copy(to, readerFunc(func(b []byte) (int, error) {
		n, err := from.Read(b)
		g.mu.Lock()
		paused := g.paused
		g.mu.Unlock()
		<-paused
		return n, err
	}))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

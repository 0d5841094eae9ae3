package simulator

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Provider is a provider of language models that follows a Script. Its methods may run concurrently.
type Provider struct {
	script    Script
	server    http.Server
	pipe      *Pipe
	transport *http.Transport
	inMemory  sync.Once
	closed    chan struct{}  // closed by Close
	running   sync.WaitGroup // servers and connections

	mu      sync.Mutex
	closing bool
	start   time.Time
	served  int   // requests so far: the source of ids
	next    int   // the next of the script's replies
	window  int64 // the limit's window that used counts in
	used    int
	opens   time.Time // when the SpentWindow that is next opens; zero: it has refused nothing so far
	log     record
	buckets []bucket // what is left of the rates
}

// New returns a provider whose clock starts now. To use it in a synctest bubble,
// create it there. Only Serve and Transport start goroutines; Close ends them.
func New(s Script) *Provider {
	if s.Answer == "" {
		s.Answer = defaultAnswer
	}
	p := &Provider{script: s, pipe: NewPipe(), closed: make(chan struct{}), start: time.Now()}
	for _, r := range s.Rates {
		p.buckets = append(p.buckets, bucket{Rate: r})
	}
	p.server = http.Server{
		Handler:           p,
		ConnState:         p.follow,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // failures are intended
	}
	// DialTLSContext too, so that a client keeps its vendor's https address.
	p.transport = &http.Transport{DialContext: p.dial, DialTLSContext: p.dial}
	return p
}

// Start restarts the clock of outages, the limit's windows and the times in
// Requests. It does not restart the replies.
func (p *Provider) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start, p.window, p.used, p.opens = time.Now(), 0, 0, time.Time{}
}

// Serve serves a listener until Close, then returns nil. It closes the listener.
// See Refuse for how a refusal looks there.
func (p *Provider) Serve(l net.Listener) error {
	if !p.hold() {
		return l.Close()
	}
	defer p.running.Done()
	return p.serve(refusingListener{l, p})
}

// serve serves a listener. The caller holds running.
func (p *Provider) serve(l net.Listener) error {
	err := p.server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Transport returns a transport that reaches the provider in memory at any http or https address, without
// TLS. It is always the same one, and closed with the provider.
func (p *Provider) Transport() *http.Transport {
	p.inMemory.Do(func() {
		if !p.hold() {
			return
		}
		go func() {
			defer p.running.Done()
			_ = p.serve(p.pipe) // ends only with Close
		}()
	})
	return p.transport
}

// Client returns an http.Client over Transport.
func (p *Provider) Client() *http.Client { return &http.Client{Transport: p.Transport()} }

// Close breaks all connections and waits until the provider's goroutines have
// ended. In-memory dials are refused from then on.
func (p *Provider) Close() error {
	p.mu.Lock()
	first := !p.closing
	p.closing = true
	p.mu.Unlock()
	if first {
		close(p.closed)
	}
	err := errors.Join(p.server.Close(), p.pipe.Close())
	p.transport.CloseIdleConnections()
	p.running.Wait()
	return err
}

// hold makes Close wait until running.Done. It reports false after Close.
func (p *Provider) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return false
	}
	p.running.Add(1)
	return true
}

// follow counts connections. Its caller, the server, holds running too, so the
// count never leaves zero while Close waits.
func (p *Provider) follow(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.running.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.running.Done()
	}
}

// dial connects Transport, unless the script refuses.
func (p *Provider) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if p.refuses() {
		return nil, refused(network)
	}
	return p.pipe.DialContext(ctx, network, addr)
}

// refusingListener resets connections that the script refuses.
type refusingListener struct {
	net.Listener
	p *Provider
}

// Accept returns the next connection that is not refused.
func (l refusingListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || !l.p.refuses() {
			return conn, err
		}
		sever(conn)
	}
}

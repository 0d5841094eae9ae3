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

// Provider is a provider of language models that follows a Script. Its methods
// may run concurrently.
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
	log     record
}

// New returns a provider whose clock starts now. Make it inside the bubble if it
// is for one. Only Serve and Transport start goroutines; Close ends them.
func New(s Script) *Provider {
	if s.Answer == "" {
		s.Answer = defaultAnswer
	}
	p := &Provider{script: s, pipe: NewPipe(), closed: make(chan struct{}), start: time.Now()}
	p.server = http.Server{
		Handler:           p,
		ConnState:         p.follow,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // what fails here fails on purpose
	}
	// DialTLSContext too, so that a client keeps its vendor's https address.
	p.transport = &http.Transport{DialContext: p.dial, DialTLSContext: p.dial}
	return p
}

// Start starts the clock anew, and with it outages, windows of the limit and
// the times in Requests. The replies go on where they are.
func (p *Provider) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start, p.window, p.used = time.Now(), 0, 0
}

// Serve answers on a listener until Close, then gives nil; it closes the
// listener. See Refuse for what a refusal looks like there.
func (p *Provider) Serve(l net.Listener) error {
	if !p.hold() {
		return l.Close()
	}
	defer p.running.Done()
	return p.serve(door{l, p})
}

// serve is Serve for whoever holds running.
func (p *Provider) serve(l net.Listener) error {
	err := p.server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Transport reaches the provider in memory, whatever the host, with http and
// https alike and without TLS. It is the same one each time, and it is closed
// with the provider.
func (p *Provider) Transport() *http.Transport {
	p.inMemory.Do(func() {
		if !p.hold() {
			return
		}
		go func() {
			defer p.running.Done()
			_ = p.serve(p.pipe) // a pipe ends only by being closed
		}()
	})
	return p.transport
}

// Client returns an http.Client over Transport.
func (p *Provider) Client() *http.Client { return &http.Client{Transport: p.Transport()} }

// Close ends everything that is under way, breaks all connections and waits
// until nothing of the provider is left running. Dialling it in memory is
// refused from then on.
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

// hold keeps Close waiting until running.Done; false: it is too late.
func (p *Provider) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return false
	}
	p.running.Add(1)
	return true
}

// follow counts connections. The server that calls it holds running itself, so
// the count never leaves zero while Close waits.
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

// door is a real listener that resets whom the script refuses.
type door struct {
	net.Listener
	p *Provider
}

// Accept returns the next connection that is not refused.
func (d door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil || !d.p.refuses() {
			return conn, err
		}
		sever(conn)
	}
}

package simulator

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// Pipe is a net.Listener in memory. What it accepts comes from its own
// DialContext, over net.Pipe, so that a server on it and its clients can run
// inside a testing/synctest bubble; make it inside the bubble then.
//
// Dialling a closed Pipe is refused as a closed port refuses. A connection
// that is closed after SetLinger(0) is a reset to its other end.
type Pipe struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// NewPipe returns an open Pipe.
func NewPipe() *Pipe {
	return &Pipe{waiting: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for the next connection. After Close its error is net.ErrClosed.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.waiting:
		return conn, nil
	case <-p.closed:
		return nil, &net.OpError{Op: "accept", Net: pipeName, Addr: p.Addr(), Err: net.ErrClosed}
	}
}

// Close ends Accept and refuses whoever dials. It leaves connections alone.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns an address that names the pipe and leads nowhere.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

// DialContext connects to whoever accepts, whatever the address. It fits
// http.Transport.
func (p *Pipe) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	client, server := connect()
	select {
	case p.waiting <- server:
		return client, nil
	case <-p.closed:
		return nil, refused(network)
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: network, Addr: p.Addr(), Err: context.Cause(ctx)}
	}
}

// refused is the error of a dial that nobody listens for.
func refused(network string) error {
	err := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	return &net.OpError{Op: "dial", Net: network, Addr: pipeAddr{}, Err: err}
}

const pipeName = "pipe"

// pipeAddr is the address of every Pipe.
type pipeAddr struct{}

func (pipeAddr) Network() string { return pipeName }
func (pipeAddr) String() string  { return pipeName }

// connect returns the two ends of a connection.
func connect() (net.Conn, net.Conn) {
	a, b := net.Pipe()
	severed := new(atomic.Bool)
	return &pipeConn{a, severed}, &pipeConn{b, severed}
}

// pipeConn is one end of a connection that can be reset.
type pipeConn struct {
	net.Conn
	severed *atomic.Bool // shared by both ends
}

// SetLinger makes the next Close a reset if sec is 0, as net.TCPConn does.
func (c *pipeConn) SetLinger(sec int) error {
	c.severed.Store(sec == 0)
	return nil
}

// Read reads; the end of a severed connection is a reset.
func (c *pipeConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.named("read", err)
}

// Write writes; the end of a severed connection is a reset.
func (c *pipeConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.named("write", err)
}

// named returns the error that a network would have given.
func (c *pipeConn) named(op string, err error) error {
	over := errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
	if !over || !c.severed.Load() {
		return err
	}
	return &net.OpError{Op: op, Net: pipeName, Addr: pipeAddr{}, Err: os.NewSyscallError(op, syscall.ECONNRESET)}
}

// sever closes a connection with a reset where it knows how to.
func sever(conn net.Conn) {
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0) // a connection that is gone already is as good as reset
	}
	_ = conn.Close()
}

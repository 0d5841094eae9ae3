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

// Pipe is an in-memory net.Listener. It accepts the connections of its own DialContext, over net.Pipe, so
// that a server and its clients can run inside a testing/synctest bubble. Create it there.
//
// A dial of a closed Pipe is refused as by a closed port. A connection that is
// closed after SetLinger(0) is reset at its other end.
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

// Close ends Accept and refuses further dials. It does not close connections.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns an address for display only.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

// DialContext connects to Accept, for any address. It fits http.Transport.
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

// refused returns the error of a dial without a listener.
func refused(network string) error {
	err := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	return &net.OpError{Op: "dial", Net: network, Addr: pipeAddr{}, Err: err}
}

const pipeName = "pipe"

// pipeAddr is the address of every Pipe.
type pipeAddr struct{}

// Network implements net.Addr.
func (pipeAddr) Network() string { return pipeName }

// String implements net.Addr.
func (pipeAddr) String() string { return pipeName }

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

// named returns the error that a network connection would return.
func (c *pipeConn) named(op string, err error) error {
	over := errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
	if !over || !c.severed.Load() {
		return err
	}
	return &net.OpError{Op: op, Net: pipeName, Addr: pipeAddr{}, Err: os.NewSyscallError(op, syscall.ECONNRESET)}
}

// sever closes a connection, with a reset if it supports that.
func sever(conn net.Conn) {
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0) // a closed connection needs no reset
	}
	_ = conn.Close()
}

//go:build linux && !race

package cork

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// most is the size up to which a call is not announced: what cork writes together, copied in a few microseconds.
const most = 66 << 10

// Socket is a net.TCPConn whose small reads and writes are not announced to Go's scheduler: that wakes the runtime's sysmon
// in an idle process. A chunk of a stream costs 0.98 of a plain proxy's time, announced 1.10 (over HTTP/2 0.99 and 1.18).
type Socket struct {
	*net.TCPConn
	raw     syscall.RawConn
	in, out call
}

// call is a system call that is tried until it need not wait.
type call struct {
	mu  sync.Mutex            // there is one at a time
	try func(fd uintptr) bool // made once
	p   []byte
	n   int
	err error
}

// NewSocket returns a connection as a Socket where that is possible, or as it is.
func NewSocket(c net.Conn) net.Conn {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return c
	}
	made := &Socket{TCPConn: t, raw: raw}
	made.in.try, made.out.try = made.in.read, made.out.write
	return made
}

// NetConn returns the connection below.
func (c *Socket) NetConn() net.Conn { return c.TCPConn }

// Read implements net.Socket.
func (c *Socket) Read(p []byte) (int, error) {
	if len(p) == 0 || len(p) > most {
		return c.TCPConn.Read(p)
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.begin(p)
	n, err := c.in.end("read", c, c.raw.Read(c.in.try))
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

// Write implements net.Socket.
func (c *Socket) Write(p []byte) (int, error) {
	if len(p) == 0 || len(p) > most {
		return c.TCPConn.Write(p)
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.begin(p)
	return c.out.end("write", c, c.raw.Write(c.out.try))
}

func (k *call) begin(p []byte) { k.p, k.n, k.err = p, 0, nil }

// end returns the result, as a net.TCPConn does. failed is why the call could not be made, such as a deadline.
func (k *call) end(name string, c *Socket, failed error) (n int, err error) {
	k.p = nil
	op, ok := failed.(*net.OpError) // of its own, so that it can be changed: each request of a server has one
	switch {
	case ok:
	case failed != nil:
		op = &net.OpError{Err: failed}
	case k.err != nil:
		op = &net.OpError{Err: os.NewSyscallError(name, k.err)}
	default:
		return k.n, nil
	}
	op.Op, op.Net, op.Source, op.Addr = name, "tcp", c.LocalAddr(), c.RemoteAddr()
	return k.n, op
}

// read reads once; false: there is nothing yet.
func (k *call) read(fd uintptr) bool {
	k.n, k.err = do(syscall.SYS_READ, fd, k.p)
	return k.err != syscall.EAGAIN
}

// write writes all; false: the rest has to wait.
func (k *call) write(fd uintptr) bool {
	for k.n < len(k.p) {
		n, err := do(syscall.SYS_WRITE, fd, k.p[k.n:])
		switch {
		case err == syscall.EAGAIN:
			return false
		case err != nil:
			k.err = err
			return true
		}
		k.n += n
	}
	return true
}

// do makes a system call that is not announced, on a socket that does not block. The error is a syscall.Errno, or nil.
func do(trap, fd uintptr, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, syscall.EAGAIN
		default:
			return 0, errno
		}
	}
}

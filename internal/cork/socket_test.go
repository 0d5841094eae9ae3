package cork_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cork"
)

// pair returns a connection and its other end, both over TCP.
func pair(t testing.TB) (c net.Conn, other *net.TCPConn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatalf("accept: %v", err)
	}
	t.Cleanup(func() { _ = dialed.Close(); _ = accepted.Close() })
	return cork.NewSocket(dialed), accepted.(*net.TCPConn)
}

func TestConn_CarriesAnySize(t *testing.T) {
	for _, size := range []int{0, 1, 4 << 10, 32 << 10, 32<<10 + 1, 1 << 20} {
		c, other := pair(t)
		text := bytes.Repeat([]byte("0123456789abcde\n"), size/16+1)[:size]
		go func() {
			_, _ = io.Copy(other, other) // until the writer has ended
			_ = other.CloseWrite()
		}()
		sent := make(chan error, 1)
		go func() {
			for rest := text; len(rest) > 0; {
				n, err := c.Write(rest[:min(len(rest), 20<<10)])
				if err != nil {
					sent <- err
					return
				}
				rest = rest[n:]
			}
			sent <- c.(interface{ CloseWrite() error }).CloseWrite()
		}()
		got, err := io.ReadAll(c)
		if sendErr := <-sent; sendErr != nil || err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes there and back: got %d, the same: %v, errors %v and %v", size, len(got), bytes.Equal(got, text), sendErr, err)
		}
	}
}

// A write waits while the other side does not read, and then continues where it was.
func TestConn_WriteWaitsForTheReader(t *testing.T) {
	c, other := pair(t)
	if err := errors.Join(other.SetReadBuffer(4<<10), c.(interface{ SetWriteBuffer(int) error }).SetWriteBuffer(4<<10)); err != nil {
		t.Fatalf("set the buffers: %v", err)
	}
	const parts = 3
	part := bytes.Repeat([]byte("x"), 30<<10)
	sent := make(chan error, 1)
	go func() {
		for range parts {
			if n, err := c.Write(part); n != len(part) || err != nil {
				sent <- errors.Join(err, io.ErrShortWrite)
				return
			}
		}
		sent <- c.Close()
	}()
	n, err := io.Copy(io.Discard, other)
	if sendErr := <-sent; sendErr != nil || err != nil || n != parts*int64(len(part)) {
		t.Errorf("%d parts of %d bytes over small buffers: got %d bytes, errors %v and %v", parts, len(part), n, sendErr, err)
	}
}

func TestConn_EndsAsATCPConnDoes(t *testing.T) {
	tests := []struct {
		name string
		end  func(c net.Conn, other *net.TCPConn)
		want func(error) bool
	}{
		{"the other side has ended", func(_ net.Conn, other *net.TCPConn) { _ = other.Close() }, func(err error) bool { return err == io.EOF }},
		{"closed before", func(c net.Conn, _ *net.TCPConn) { _ = c.Close() }, func(err error) bool { return errors.Is(err, net.ErrClosed) }},
		{"closed meanwhile", func(c net.Conn, _ *net.TCPConn) { time.AfterFunc(time.Millisecond, func() { _ = c.Close() }) }, func(err error) bool { return errors.Is(err, net.ErrClosed) }},
		{"the deadline is over", func(c net.Conn, _ *net.TCPConn) { _ = c.SetReadDeadline(time.Unix(1, 0)) }, timedOut},
		{"the deadline comes", func(c net.Conn, _ *net.TCPConn) { _ = c.SetReadDeadline(time.Now().Add(time.Millisecond)) }, timedOut},
		{"reset", func(_ net.Conn, other *net.TCPConn) { _ = other.SetLinger(0); _ = other.Close() }, func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }},
	}
	for _, tt := range tests {
		var texts [2]string
		for i := range texts {
			c, other := pair(t)
			if own, ok := c.(interface{ NetConn() net.Conn }); ok && i == 1 {
				c = own.NetConn()
			}
			tt.end(c, other)
			n, err := c.Read(make([]byte, 10))
			if n != 0 || !tt.want(err) {
				t.Errorf("%s: read got %d bytes and %v", tt.name, n, err)
			}
			texts[i], _, _ = strings.Cut(err.Error(), " ")
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: the error begins %q, want as of a TCPConn, %q", tt.name, texts[0], texts[1])
		}
	}
}

func timedOut(err error) bool {
	var e net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &e) && e.Timeout()
}

func TestConn_WriteEndsAtItsDeadline(t *testing.T) {
	c, _ := pair(t)
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	part := make([]byte, 16<<10)
	var err error
	for range 10_000 {
		if _, err = c.Write(part); err != nil {
			break
		}
	}
	if !timedOut(err) {
		t.Errorf("writes that no one reads: got %v, want that of a deadline", err)
	}
}

func TestConn_AllocatesNothing(t *testing.T) {
	c, other := pair(t)
	p, q := make([]byte, 100), make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		_, err := c.Write(p)
		_, readErr := io.ReadFull(other, q)
		_, writeErr := other.Write(q)
		_, err2 := io.ReadFull(c, p)
		if err = errors.Join(err, readErr, writeErr, err2); err != nil {
			t.Fatalf("there and back: %v", err)
		}
	}); n > 0 {
		t.Errorf("100 bytes there and back: got %v allocations, want none", n)
	}
}

func TestNew_LeavesOtherConnections(t *testing.T) {
	c, other := net.Pipe()
	defer other.Close()
	if got := cork.NewSocket(c); got != c {
		t.Errorf("a pipe: got %T, want it as it is", got)
	}
	_ = c.Close()
}

// BenchmarkSocket measures the time of 100 bytes there and back, with the other side as it is.
func BenchmarkSocket(b *testing.B) {
	for _, bench := range []struct {
		name string
		own  bool
	}{{"TCPConn", false}, {"Conn", true}} {
		b.Run(bench.name, func(b *testing.B) {
			c, other := pair(b)
			if own, ok := c.(interface{ NetConn() net.Conn }); ok && !bench.own {
				c = own.NetConn()
			}
			go func() { _, _ = io.Copy(struct{ io.Writer }{other}, struct{ io.Reader }{other}) }()
			p := make([]byte, 100)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(p); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

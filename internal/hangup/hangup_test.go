package hangup_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/hangup"
)

// host is a server, and how often it was dialed. Its connections are pipes.
type host struct {
	ip      string
	refuses atomic.Bool
	dials   atomic.Int32
	server  net.Conn // of the last connection
}

func (h *host) dial(context.Context, string, string) (net.Conn, error) {
	h.dials.Add(1)
	if h.refuses.Load() {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	client, server := net.Pipe()
	h.server = server
	return &at{client, &net.TCPAddr{IP: net.ParseIP(h.ip)}}, nil
}

// at is a connection with an address.
type at struct {
	net.Conn
	addr net.Addr
}

func (c *at) RemoteAddr() net.Addr { return c.addr }

// asked returns a connection on which a request was written at once, the server's end of it, and what a read of it
// returns, with when.
func asked(t *testing.T, h *host) (server net.Conn, dial func(context.Context, string, string) (net.Conn, error), ended chan error) {
	t.Helper()
	dial = hangup.Dial(h.dial)
	c, err := dial(t.Context(), "tcp", "server:8080")
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	server = h.server
	go func() { _, _ = server.Read(make([]byte, 10)) }()
	if _, err := c.Write([]byte("request")); err != nil {
		t.Fatalf("write: %v", err)
	}
	ended = make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 10))
		ended <- err
	}()
	return server, dial, ended
}

// endsAt checks how long a read waits, and its error.
func endsAt(t *testing.T, ended chan error, want time.Duration, is error) {
	t.Helper()
	began := time.Now()
	select {
	case err := <-ended:
		if took := time.Since(began); took != want || !errors.Is(err, is) {
			t.Errorf("read: got %v after %v, want %v after %v", err, took, is, want)
		}
	case <-time.After(time.Hour):
		t.Errorf("read: nothing after an hour, want %v after %v", is, want)
	}
}

func TestDial_SilentServerThatNoLongerListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "127.0.0.1"}
		_, _, ended := asked(t, h)
		h.refuses.Store(true)
		endsAt(t, ended, 50*time.Second, syscall.ECONNRESET) // a look after 20 s, and the grace
	})
}

func TestDial_AnotherProcessListensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "192.168.1.7"}
		_, dial, ended := asked(t, h)
		time.Sleep(time.Second)
		h.refuses.Store(true)
		if _, err := dial(t.Context(), "tcp", "server:8080"); err == nil { // another request
			t.Error("dial: got a connection, want a refusal")
		}
		h.refuses.Store(false)
		endsAt(t, ended, 39*time.Second, syscall.ECONNRESET)
	})
}

func TestDial_AnswerWithinTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "127.0.0.1"}
		server, _, ended := asked(t, h)
		h.refuses.Store(true)
		time.Sleep(45 * time.Second)
		go func() { _, _ = server.Write([]byte("answer")) }()
		endsAt(t, ended, 0, nil)
	})
}

// A model that thinks for minutes is alive while its server listens, and is not flooded with connections.
func TestDial_SilentServerThatListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "127.0.0.1"}
		server, _, ended := asked(t, h)
		time.Sleep(10 * time.Minute)
		if h.dials.Load() > 7 {
			t.Errorf("dials in ten minutes: got %d, want 7 at most", h.dials.Load())
		}
		go func() { _, _ = server.Write([]byte("answer")) }()
		endsAt(t, ended, 0, nil)
	})
}

func TestDial_ServerOnTheInternet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "198.51.100.7"}
		server, _, ended := asked(t, h)
		h.refuses.Store(true)
		time.Sleep(30 * time.Minute)
		if h.dials.Load() != 1 {
			t.Errorf("dials: got %d, want 1: it is not looked at", h.dials.Load())
		}
		_ = server.Close()
		if err := <-ended; errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: got %v, want the end of the connection", err)
		}
	})
}

// A stream that pauses after its first byte is not silent in this sense.
func TestDial_PauseInAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "127.0.0.1"}
		server, _, ended := asked(t, h)
		time.Sleep(time.Second)
		go func() { _, _ = server.Write([]byte("word")) }()
		endsAt(t, ended, 0, nil)
		h.refuses.Store(true)
		time.Sleep(30 * time.Minute)
		if h.dials.Load() != 1 {
			t.Errorf("dials: got %d, want 1: something has come", h.dials.Load())
		}
	})
}

func TestDial_IdleConnectionIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "127.0.0.1"}
		dial := hangup.Dial(h.dial)
		c, err := dial(t.Context(), "tcp", "server:8080")
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer func() { _ = c.Close() }()
		server := h.server
		buf := make([]byte, 10)
		for range 2 {
			go func() {
				_, _ = server.Read(make([]byte, 10))
				_, _ = server.Write([]byte("answer"))
			}()
			if _, err := c.Write([]byte("request")); err != nil {
				t.Fatalf("write: %v", err)
			}
			if _, err := c.Read(buf); err != nil {
				t.Fatalf("read: %v", err)
			}
			time.Sleep(time.Minute)
		}
		go func() { _, _ = server.Read(make([]byte, 10)) }()
		if _, err := c.Write([]byte("request")); err != nil {
			t.Fatalf("write: %v", err)
		}
		h.refuses.Store(true)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Read(buf)
			ended <- err
		}()
		endsAt(t, ended, 50*time.Second, syscall.ECONNRESET)
	})
}

// net/http has the connection read the body of a request.
func TestDial_BodyIsAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{ip: "127.0.0.1"}
		c, err := hangup.Dial(h.dial)(t.Context(), "tcp", "server:8080")
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer c.Close()
		server := h.server
		go func() { _, _ = io.ReadFull(server, make([]byte, 7)) }()
		if n, err := c.(io.ReaderFrom).ReadFrom(strings.NewReader("request")); n != 7 || err != nil {
			t.Fatalf("write of 7 bytes: got %d, %v", n, err)
		}
		h.refuses.Store(true)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 10))
			ended <- err
		}()
		endsAt(t, ended, 50*time.Second, syscall.ECONNRESET)
	})
}

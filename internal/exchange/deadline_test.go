package exchange_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/exchange"
)

// counted is a connection that counts its reads, and how often its read deadline is set.
type counted struct {
	net.Conn
	sets, reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Conn.Read(p)
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.sets++
	return c.Conn.SetReadDeadline(t)
}

// one is a listener for one connection.
type one struct {
	net.Listener
	conn net.Conn
}

func (l one) Accept() (net.Conn, error) { return l.conn, nil }

// accepted returns a connection that a Listener has accepted, the one below it, and the client's end.
func accepted(t *testing.T) (c net.Conn, below *counted, client net.Conn) {
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	below = &counted{Conn: server}
	c, err := exchange.Listener{Listener: one{conn: below}}.Accept()
	if err != nil {
		t.Fatalf("accept: %v", err)
	}
	return c, below, client
}

// readsUntil reads where no byte comes, and returns when that ends in a deadline.
func readsUntil(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	began := time.Now()
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read where no byte comes: got %d, %v; want the deadline's error", n, err)
	}
	return time.Since(began)
}

// The deadlines of TestListener_LastDeadlineHolds that are no time from now.
const (
	none      = time.Duration(-1)
	interrupt = time.Duration(-2)
)

// interrupted is the deadline by which net/http ends a read.
var interrupted = time.Unix(1, 0)

func TestListener_LastDeadlineHolds(t *testing.T) {
	tests := []struct {
		name      string
		deadlines []time.Duration // from now
		want      time.Duration
	}{
		{"one", []time.Duration{5 * time.Second}, 5 * time.Second},
		{"a later one", []time.Duration{5 * time.Second, time.Minute}, time.Minute},
		{"an earlier one", []time.Duration{time.Minute, 5 * time.Second}, 5 * time.Second},
		{"none between two", []time.Duration{5 * time.Second, none, time.Minute}, time.Minute},
		{"a past one, moved", []time.Duration{0, none, time.Minute}, time.Minute},
		{"an interrupt, moved", []time.Duration{time.Minute, interrupt, none, 10 * time.Minute}, 10 * time.Minute},
		{"an interrupt, moved a little", []time.Duration{interrupt, none, time.Second}, time.Second},
		{"an interrupt", []time.Duration{time.Minute, interrupt}, 0},
		{"a past one", []time.Duration{time.Minute, 0}, 0},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			c, _, _ := accepted(t)
			for _, d := range test.deadlines {
				at := time.Now().Add(d)
				switch d {
				case none:
					at = time.Time{}
				case interrupt:
					at = interrupted
				}
				if err := c.SetReadDeadline(at); err != nil {
					t.Fatalf("%s: set the deadline: %v", test.name, err)
				}
			}
			if got := readsUntil(t, c); got != test.want {
				t.Errorf("%s: got a deadline after %v, want %v", test.name, got, test.want)
			}
			if got := readsUntil(t, c); got != 0 {
				t.Errorf("%s: read after the deadline: got an error after %v, want it at once", test.name, got)
			}
		})
	}
}

func TestListener_ReadGoesOnWhenTheDeadlineIsMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, client := accepted(t)
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		go func() {
			_ = c.SetReadDeadline(time.Time{})
			time.Sleep(time.Hour)
			_, _ = client.Write([]byte("x"))
		}()
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read without a deadline any more: got %d, %v; want the byte", n, err)
		}
	})
}

func TestListener_ReadEndsWhenTheDeadlineIsMovedForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := accepted(t)
		go func() {
			time.Sleep(time.Second)
			_ = c.SetDeadline(time.Unix(1, 0))
		}()
		if got := readsUntil(t, c); got != time.Second {
			t.Errorf("a past deadline is set while it reads: got its error after %v, want 1s", got)
		}
	})
}

func TestListener_LaterDeadlinesAreNotSetAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, below, client := accepted(t)
		go func() { _, _ = client.Write(make([]byte, 100)) }()
		for range 100 {
			for _, d := range []time.Duration{10 * time.Second, 30 * time.Second, 5 * time.Minute} {
				_ = c.SetReadDeadline(time.Now().Add(d))
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatalf("read: %v", err)
			}
			_ = c.SetReadDeadline(time.Time{})
		}
		if below.sets != 1 {
			t.Errorf("400 deadlines, each later than the first: got %d set below, want 1", below.sets)
		}
	})
}

func TestListener_RequestNeedsTwoDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 10
		c, below, client := accepted(t)
		go func() { _, _ = client.Write(make([]byte, 2*requests)) }()
		read := func() {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatalf("read: %v", err)
			}
		}
		for range requests { // as net/http does
			_ = c.SetReadDeadline(interrupted)
			_ = c.SetReadDeadline(time.Time{})
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
			read()
			_ = c.SetReadDeadline(time.Time{})
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			read()
			_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
			_ = c.SetReadDeadline(time.Time{})
		}
		if want := 2 * requests; below.sets != want || below.reads != want {
			t.Errorf("%d requests that are read twice and interrupted once: got %d deadlines and %d reads, want %d of each",
				requests, below.sets, below.reads, want)
		}
	})
}

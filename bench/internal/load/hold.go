package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Held are clients that have sent a request and wait.
type Held struct{ conns []net.Conn }

// Hold connects a client and sends one request. If the answer begins at once, it reads up to its first piece of
// content.
func (h *Held) Hold(addr string, request []byte, begins bool) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	h.conns = append(h.conns, c)
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := c.Write(request); err != nil || !begins {
		return err
	}
	return readTo(c, content)
}

func readTo(r io.Reader, text []byte) error {
	var buffer [4 << 10]byte
	for n := 0; n < len(buffer); {
		k, err := r.Read(buffer[n:])
		if n += k; bytes.Contains(buffer[:n], text) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("no %q in %q", text, buffer[:200])
}

// comment begins a comment in a stream, which is what a gateway sends to a client of Chat Completions that waits.
var comment = []byte("\n: ")

// Pings reads what has arrived so far and counts the comments in it.
func (h *Held) Pings() (n int, err error) {
	buffer := make([]byte, 64<<10)
	for _, c := range h.conns {
		if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			return n, err
		}
		k, err := c.Read(buffer)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, fmt.Errorf("a held client: %w", err)
		}
		n += bytes.Count(buffer[:k], comment)
	}
	return n, nil
}

// Finish waits until every client has its complete answer, at most until end.
func (h *Held) Finish(end time.Time) error {
	for i, c := range h.conns {
		if err := c.SetDeadline(end); err != nil {
			return err
		}
		a, err := newClient(c).answer()
		if err != nil || !a.Whole(true) {
			return fmt.Errorf("client %d of %d: status %d, %d events, terminator: %t: %w", i, len(h.conns), a.Status, a.Events, a.Done, err)
		}
	}
	return nil
}

// Close disconnects the clients.
func (h *Held) Close() error {
	err := closeAll(h.conns)
	h.conns = nil
	return err
}

package load

import (
	"io"
	"net"
)

// ReadAnswer reads one answer, and gives what comes after it.
func ReadAnswer(r io.Reader) (Answer, []byte, error) {
	c := newClient(readOnly{r: r})
	a, err := c.answer()
	rest, _ := c.r.Peek(c.r.Buffered())
	return a, rest, err
}

// readOnly is a connection that can only be read.
type readOnly struct {
	net.Conn
	r io.Reader
}

func (c readOnly) Read(p []byte) (int, error) { return c.r.Read(p) }

// Wait waits until every client of the loop has ended.
func (l *Loop) Wait() { l.wg.Wait() }

// Len is how many there are.
func (h *Held) Len() int { return len(h.conns) }

package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"time"
)

// Answer is a client's summary of an answer.
type Answer struct {
	Status int
	Events int       // of a stream: its data, but for the terminator
	Done   bool      // of a stream: its terminator has come
	First  time.Time // of a stream: when the first piece of content came
}

// Whole reports whether the answer has the requested form and is complete.
func (a Answer) Whole(stream bool) bool { return a.Status == 200 && a.Done == stream }

// Client is one connection of a client. It is for one goroutine.
type Client struct {
	net.Conn
	r     *bufio.Reader
	lines *bufio.Reader
	event func() // called for each event; nil: not called
}

// Dial connects to a proxy.
func Dial(addr string) (*Client, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return newClient(c), nil
}

func newClient(c net.Conn) *Client {
	return &Client{Conn: c, r: bufio.NewReaderSize(c, 16<<10), lines: bufio.NewReaderSize(nil, 4<<10)}
}

// dialAll connects n clients, or none if one cannot connect.
func dialAll(addr string, n int) (all []*Client, err error) {
	for range n {
		c, err := Dial(addr)
		if err != nil {
			return nil, errors.Join(err, closeAll(all))
		}
		all = append(all, c)
	}
	return all, nil
}

func closeAll[C io.Closer](all []C) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Ask sends a request and reads its answer.
func (c *Client) Ask(request []byte) (Answer, error) {
	if _, err := c.Write(request); err != nil {
		return Answer{}, err
	}
	return c.answer()
}

// whole sends a request at a time, and reads the answer that was asked for; any other is an error.
func (c *Client) whole(request []byte, stream bool, at time.Time) (Answer, error) {
	if err := c.SetDeadline(at.Add(limit)); err != nil {
		return Answer{}, err
	}
	a, err := c.Ask(request)
	if err == nil && !a.Whole(stream) {
		err = fmt.Errorf("an answer with status %d, %d events, terminator: %t", a.Status, a.Events, a.Done)
	}
	return a, err
}

func (c *Client) answer() (Answer, error) {
	head, err := readHead(c.r)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: head.status}
	switch {
	case head.chunked:
		err = c.stream(&a)
	case head.length < 0:
		err = errors.New("an answer of unknown length")
	default:
		_, err = c.r.Discard(head.length)
	}
	return a, err
}

func (c *Client) stream(a *Answer) error {
	c.lines.Reset(httputil.NewChunkedReader(c.r))
	for {
		line, err := c.lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull { // a long line of JSON: no event of ours
			continue
		}
		c.look(a, line)
		if err == io.EOF {
			_, err = c.r.ReadSlice('\n') // the end of the empty trailers
			return err
		}
		if err != nil {
			return err
		}
	}
}

var (
	data       = []byte("data: ")
	terminator = []byte("[DONE]")
	content    = []byte(`"content":" token`)
)

func (c *Client) look(a *Answer, line []byte) {
	value, ok := bytes.CutPrefix(line, data)
	switch {
	case !ok:
		return
	case bytes.HasPrefix(value, terminator):
		a.Done = true
		return
	case a.First.IsZero() && bytes.Contains(value, content):
		a.First = time.Now()
	}
	a.Events++
	if c.event != nil {
		c.event()
	}
}

type head struct {
	status  int
	length  int // -1: not said
	chunked bool
}

var errHead = errors.New("no HTTP/1.1")

func readHead(r *bufio.Reader) (head, error) {
	h := head{length: -1}
	line, err := r.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	if len(line) < len("HTTP/1.1 200\n") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return h, errHead
	}
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil || h.status < 100 {
		return h, errHead
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return h, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return h, nil
		}
		if err := h.read(line); err != nil {
			return h, err
		}
	}
}

func (h *head) read(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		n, err := strconv.ParseUint(string(value), 10, 31)
		if err != nil {
			return fmt.Errorf("%w: %q", errHead, line)
		}
		h.length = int(n)
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	}
	return nil
}

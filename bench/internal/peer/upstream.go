package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// arrivalsBound is how many arrivals are remembered.
const arrivalsBound = 1 << 20

// Upstream plays the provider. It reads and writes its connections itself,
// since net/http's server would cost as much as what is measured.
type Upstream struct {
	answer, refusal []byte
	stream          pieces

	held     atomic.Int64 // requests that it has taken and not answered to the end
	requests atomic.Int64
	mu       sync.Mutex
	arrivals []int64 // of requests that it refuses for a time, in microseconds since 1970
}

// Counts is what the upstream has seen since it was last asked to forget.
type Counts struct {
	Held     int64   `json:"held"` // now
	Requests int64   `json:"requests"`
	Arrivals []int64 `json:"arrivals"` // of the requests of a Refuse with an end, in microseconds since 1970
}

// CountsPath answers a GET with Counts as JSON; a POST forgets them first.
const CountsPath = "/-/counts"

// NewUpstream makes an upstream.
func NewUpstream() *Upstream {
	return &Upstream{answer: wholeAnswer(), refusal: refusal(), stream: streamPieces()}
}

// Serve serves until the listener is closed.
func (u *Upstream) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			_ = u.converse(c) // it ends when the other side goes
		}()
	}
}

// converse answers the requests of one connection.
func (u *Upstream) converse(c net.Conn) error {
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return err
		}
		var start [128]byte
		n, err := io.ReadFull(req.Body, start[:])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return err
		}
		if req.URL.Path == CountsPath {
			err = u.tell(c, req.Method == http.MethodPost)
		} else {
			err = u.play(c, model(start[:n]))
		}
		if err != nil {
			return err
		}
	}
}

// play does with a request what its model says.
func (u *Upstream) play(c net.Conn, model string) error {
	s, err := ParseScene(model)
	if err != nil {
		_, err = c.Write(whole("400 Bad Request", `{"error":{"message":"this model is no scene","type":"invalid_request_error"}}`))
		return err
	}
	u.requests.Add(1)
	u.held.Add(1)
	defer u.held.Add(-1)
	switch {
	case s.Kind == Stall:
		_, err = c.Read(make([]byte, 1)) // the other side goes, or talks out of turn
		return errors.Join(err, io.ErrUnexpectedEOF)
	case s.Kind == Refuse && !u.over(s), s.Kind == Partial && rand.IntN(100) < s.Share:
		_, err = c.Write(u.refusal)
	case s.Kind == Refuse, s.Kind == Partial:
		_, err = c.Write(u.stream.coalesced(5))
	case s.Kind == Stream && s.Every == 0:
		_, err = c.Write(u.stream.coalesced(s.Chunks))
	case s.Kind == Stream:
		err = u.drip(c, s)
	default:
		_, err = c.Write(u.answer)
	}
	return err
}

// over reports whether a refusal has come to its end, and remembers the arrival where it ever does.
func (u *Upstream) over(s Scene) bool {
	if s.Until.IsZero() {
		return false
	}
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.arrivals) < arrivalsBound {
		u.arrivals = append(u.arrivals, now.UnixMicro())
	}
	return !now.Before(s.Until)
}

// drip sends a stream piece by piece.
func (u *Upstream) drip(c net.Conn, s Scene) error {
	if _, err := c.Write(u.stream.first); err != nil {
		return err
	}
	due := time.Now().Add(rand.N(s.Every)) // streams do not beat in step
	beat := time.NewTimer(time.Until(due))
	defer beat.Stop()
	gone := make(chan struct{})
	if s.Every > time.Second { // a stream that is only there: notice that the other side goes
		go func() { _, _ = c.Read(make([]byte, 1)); close(gone) }()
	}
	for range s.Chunks - 1 {
		select {
		case <-beat.C:
		case <-gone:
			return io.ErrUnexpectedEOF
		}
		if _, err := c.Write(u.stream.next); err != nil {
			return err
		}
		due = due.Add(s.Every)
		beat.Reset(time.Until(due))
	}
	_, err := c.Write(u.stream.last)
	return err
}

// tell answers with what has been counted.
func (u *Upstream) tell(c net.Conn, forget bool) error {
	u.mu.Lock()
	if forget {
		u.arrivals = nil
		u.requests.Store(0)
	}
	counts := Counts{Held: u.held.Load(), Requests: u.requests.Load(), Arrivals: slices.Clone(u.arrivals)}
	u.mu.Unlock()
	text, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	_, err = c.Write(whole("200 OK", string(text)))
	return err
}

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
	answer, refusal piece
	stream          pieces

	held     atomic.Int64 // requests that it has taken and not answered to the end
	requests atomic.Int64
	well     atomic.Bool // what refuses without an end answers from now on
	mu       sync.Mutex
	arrivals []int64 // of requests that it refuses for a time, in microseconds since 1970
}

// Counts is what the upstream has seen since it was last asked to forget.
type Counts struct {
	Held     int64   `json:"held"` // now
	Requests int64   `json:"requests"`
	Arrivals []int64 `json:"arrivals"` // of the requests of a Refuse with an end, in microseconds since 1970
}

const (
	// CountsPath answers a GET with Counts as JSON; a POST forgets them first.
	CountsPath = "/-/counts"
	// RecoverPath ends, with a POST, every refusal that has no end of its own.
	RecoverPath = "/-/recover"
)

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
		name, err := modelOf(req.Body)
		if err != nil {
			return err
		}
		if p, ok := u.told(req); ok {
			_, err = c.Write(p.wire)
		} else {
			err = u.play(wire{c}, name)
		}
		if err != nil {
			return err
		}
	}
}

// modelOf reads a body to its end and gives the name of the model in it.
func modelOf(body io.Reader) (string, error) {
	var start [128]byte
	n, err := io.ReadFull(body, start[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", err
	}
	_, err = io.Copy(io.Discard, body)
	return model(start[:n]), err
}

// told answers what the benchmark itself asks.
func (u *Upstream) told(req *http.Request) (piece, bool) {
	switch req.URL.Path {
	case CountsPath:
		return u.tell(req.Method == http.MethodPost), true
	case RecoverPath:
		u.well.Store(req.Method == http.MethodPost)
		return u.tell(false), true
	}
	return piece{}, false
}

// listener is who an answer goes to.
type listener interface {
	send(piece) error
	gone() // returns when the other side has left
}

// wire is a connection that speaks HTTP/1.1.
type wire struct{ net.Conn }

func (w wire) send(p piece) error {
	_, err := w.Write(p.wire)
	return err
}

func (w wire) gone() { _, _ = w.Read(make([]byte, 1)) } // or it talks out of turn

// play does with a request what its model says.
func (u *Upstream) play(to listener, model string) error {
	s, err := ParseScene(model)
	if err != nil {
		return to.send(whole(http.StatusBadRequest, `{"error":{"message":"this model is no scene","type":"invalid_request_error"}}`))
	}
	u.requests.Add(1)
	u.held.Add(1)
	defer u.held.Add(-1)
	switch {
	case s.Kind == Stall:
		to.gone()
		return io.ErrUnexpectedEOF
	case s.Kind == Refuse && !u.over(s), s.Kind == Partial && rand.IntN(100) < s.Share:
		return to.send(u.refusal)
	case s.Kind == Refuse, s.Kind == Partial:
		return to.send(u.stream.coalesced(5))
	case s.Kind == Stream && s.Every == 0:
		return to.send(u.stream.coalesced(s.Chunks))
	case s.Kind == Stream:
		return u.drip(to, s)
	}
	return to.send(u.answer)
}

// over reports whether a refusal has come to its end, and remembers the arrival where it ever does.
func (u *Upstream) over(s Scene) bool {
	if s.Until.IsZero() {
		return u.well.Load()
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
func (u *Upstream) drip(to listener, s Scene) error {
	if err := to.send(u.stream.first); err != nil {
		return err
	}
	due := time.Now().Add(rand.N(s.Every)) // streams do not beat in step
	beat := time.NewTimer(time.Until(due))
	defer beat.Stop()
	gone := make(chan struct{})
	if s.Every > time.Second { // a stream that is only there: notice that the other side goes
		go func() { to.gone(); close(gone) }()
	}
	for range s.Chunks - 1 {
		select {
		case <-beat.C:
		case <-gone:
			return io.ErrUnexpectedEOF
		}
		if err := to.send(u.stream.next); err != nil {
			return err
		}
		due = due.Add(s.Every)
		beat.Reset(time.Until(due))
	}
	return to.send(u.stream.last)
}

// tell is an answer with what has been counted.
func (u *Upstream) tell(forget bool) piece {
	u.mu.Lock()
	if forget {
		u.arrivals = nil
		u.requests.Store(0)
	}
	counts := Counts{Held: u.held.Load(), Requests: u.requests.Load(), Arrivals: slices.Clone(u.arrivals)}
	u.mu.Unlock()
	text, _ := json.Marshal(counts) // numbers
	return whole(http.StatusOK, string(text))
}

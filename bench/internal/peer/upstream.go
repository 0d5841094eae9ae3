package peer

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const arrivalsBound = 1 << 20

// Upstream plays the provider. It reads and writes its connections itself, since net/http's server would cost as
// much as the measured proxy.
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

func (u *Upstream) converse(c net.Conn) error {
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return err
		}
		if err := u.respond(wire{c}, req); err != nil {
			return err
		}
	}
}

func (u *Upstream) respond(to listener, req *http.Request) error {
	name, err := modelOf(req.Body)
	if err != nil {
		return err
	}
	switch req.URL.Path { // the benchmark itself asks
	case CountsPath:
		return to.send(u.tell(req.Method == http.MethodPost))
	case RecoverPath:
		u.well.Store(req.Method == http.MethodPost)
		return to.send(u.tell(false))
	}
	return u.play(to, name)
}

func modelOf(body io.Reader) (string, error) {
	var start [128]byte
	n, err := io.ReadFull(body, start[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", err
	}
	_, err = io.Copy(io.Discard, body)
	return model(start[:n]), err
}

type listener interface {
	send(piece) error
	gone() // returns when the other side has left
}

type wire struct{ net.Conn }

func (w wire) send(p piece) error {
	_, err := w.Write(p.wire)
	return err
}

func (w wire) gone() { _, _ = w.Read(make([]byte, 1)) } // or it talks out of turn

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
	case s.Kind == Refuse && !u.over(s):
		return to.send(u.refusal)
	case s.Kind == Refuse:
		return to.send(u.stream.coalesced(5))
	case s.Kind == Stream && s.Every == 0:
		return to.send(u.stream.coalesced(s.Chunks))
	case s.Kind == Stream:
		return u.drip(to, s)
	}
	return to.send(u.answer)
}

// over reports whether a refusal has ended. It records the arrival of a request to a scene that ever ends.
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

// serveH2 answers a request of HTTP/2, for which net/http has the only server there is.
func (u *Upstream) serveH2(w http.ResponseWriter, r *http.Request) {
	_ = u.respond(frames{w, r}, r) // an error is that the other side has gone
}

type frames struct {
	w http.ResponseWriter
	r *http.Request
}

func (f frames) send(p piece) error {
	if p.status != 0 {
		h := f.w.Header()
		h.Set("Content-Type", "application/json")
		if strings.HasPrefix(string(p.data), "data: ") {
			h.Set("Content-Type", "text/event-stream; charset=utf-8")
			h.Set("Cache-Control", "no-cache")
		}
		h.Set("X-Request-Id", "req_0123456789abcdef")
		f.w.WriteHeader(p.status)
	}
	if _, err := f.w.Write(p.data); err != nil {
		return err
	}
	return http.NewResponseController(f.w).Flush()
}

func (f frames) gone() { <-f.r.Context().Done() }

// The upstream's answers are bytes that are made once: it shall not cost more than what is measured.

const (
	jsonHead   = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nDate: Mon, 02 Nov 2026 10:00:00 GMT\r\nX-Request-Id: req_0123456789abcdef\r\nContent-Length: %d\r\n\r\n"
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nDate: Mon, 02 Nov 2026 10:00:00 GMT\r\nX-Request-Id: req_0123456789abcdef\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// What OpenAI's Chat Completions answer: a chunk of a stream, and a whole answer.
var (
	//go:embed chunk.txt
	chunkForm string
	//go:embed whole.txt
	wholeForm string
)

type piece struct {
	status int    // of an answer that begins with this piece; 0: it has begun
	wire   []byte // as HTTP/1.1 has it, with headers and framing
	data   []byte // what of it is body
}

func wholeAnswer() piece {
	before, after, _ := strings.Cut(strings.TrimSpace(wholeForm), "%s")
	words := strings.Repeat("The provider is well again, and the answer goes on. ", 16)
	return whole(http.StatusOK, before+words[:1024-len(before)-len(after)]+after)
}

func refusal() piece {
	return whole(http.StatusServiceUnavailable, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"server_error","param":null,"code":null}}`)
}

func whole(status int, body string) piece {
	line := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return piece{status, []byte(fmt.Sprintf(jsonHead, line, len(body)) + body), []byte(body)}
}

type pieces struct {
	first piece // the headers, the role and the first piece of content
	next  piece // another piece of content
	last  piece // the reason to finish, the terminator and the end of the body
}

func streamPieces() pieces {
	chunkForm := strings.TrimSpace(chunkForm) + "\n\n"
	role := fmt.Sprintf(chunkForm, `{"role":"assistant","content":""}`, "null")
	text := fmt.Sprintf(chunkForm, `{"content":" token"}`, "null")
	end := fmt.Sprintf(chunkForm, `{}`, `"stop"`) + "data: [DONE]\n\n"
	return pieces{
		first: piece{http.StatusOK, append([]byte(streamHead), framed(role+text)...), []byte(role + text)},
		next:  piece{0, framed(text), []byte(text)},
		last:  piece{0, append(framed(end), "0\r\n\r\n"...), []byte(end)},
	}
}

func framed(data string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }

// coalesced is a stream of n pieces of content in one write.
func (p pieces) coalesced(n int) piece {
	join := func(of func(piece) []byte) []byte {
		return bytes.Join([][]byte{of(p.first), bytes.Repeat(of(p.next), n-1), of(p.last)}, nil)
	}
	return piece{p.first.status, join(func(p piece) []byte { return p.wire }), join(func(p piece) []byte { return p.data })}
}

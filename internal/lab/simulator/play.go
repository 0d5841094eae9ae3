package simulator

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (p Plain) play(x *exchange) {
	switch streams := x.streams(); {
	case p == OK:
		x.answer(x.pace)
	case p == Refuse:
		abort()
	case p == Reset:
		x.reset()
	case p == HTML:
		x.body(http.StatusOK, "text/html; charset=utf-8", page)
	case p == Empty && streams:
		x.open()
	case p == Empty:
		x.body(http.StatusOK, jsonMedia, "")
	case p == ErrorFirst && streams:
		x.open()
		x.send(x.broken())
	case p == RoleError && streams:
		s := x.open()
		x.send(s.opening...)
		x.send(x.broken(s.opening...))
	default:
		x.body(http.StatusOK, jsonMedia, x.failure(x.overload()))
	}
}

// reset breaks the connection. Without one to hijack, as with a recorder, it is an abort.
func (x *exchange) reset() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		abort()
	}
	sever(conn)
}

func (d Drip) play(x *exchange) {
	x.pace = d.Every
	x.answer(d.Every)
}

func (s Silence) play(x *exchange) {
	x.silent(s.For)
	x.answer(x.pace)
}

func (s Stall) play(x *exchange) {
	if x.streams() {
		events := x.open()
		x.silent(s.For)
		x.stream(events, x.pace)
		return
	}
	status, body := x.whole()
	x.promise(status, jsonMedia, len(body))
	x.silent(s.For)
	x.send(body)
}

func (s Status) play(x *exchange) {
	h := x.w.Header()
	for name, values := range s.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	body := s.Body
	if body == "" && s.Code >= http.StatusBadRequest {
		body = x.failure(s.Code)
	}
	if h.Get("Content-Type") == "" && json.Valid([]byte(body)) {
		h.Set("Content-Type", jsonMedia)
	}
	x.w.WriteHeader(s.Code)
	_, _ = io.WriteString(x.w, body) // unflushed: net/http then knows its length
}

func (c Cut) play(x *exchange) {
	switch {
	case c.End == Done:
		x.call.shorten(c.After)
		x.answer(x.pace)
	case x.streams():
		c.stream(x, x.open())
		x.finish(c.End)
	case c.End == Failed:
		Error200.play(x)
	default:
		x.half(c.End)
	}
}

// stream sends the part of a stream that comes before the cut, and then the error.
func (c Cut) stream(x *exchange, s stream) {
	content := s.content[:max(0, min(c.After, len(s.content)))]
	switch {
	case c.Bytes:
		all := strings.Join(slices.Concat(s.opening, s.content, s.ending), "")
		x.send(all[:min(c.After, len(all))])
	default:
		x.send(s.opening...)
		x.drip(content, x.pace)
	}
	switch {
	case c.End == Failed && c.Bytes:
		x.send(x.broken())
	case c.End == Failed:
		x.send(x.broken(slices.Concat(s.opening, content)...))
	}
}

// finish ends a cut answer.
func (x *exchange) finish(e Ending) {
	switch e {
	case Dropped:
		abort()
	case Silent:
		x.silent(0)
	}
}

// half sends the first half of the JSON body. A dropped one has the Content-Length of the whole.
func (x *exchange) half(end Ending) {
	status, body := x.whole()
	promised := len(body) / 2
	if end == Dropped || end == Silent {
		promised = len(body)
	}
	x.promise(status, jsonMedia, promised)
	x.send(body[:len(body)/2])
	x.finish(end)
}

// answer sends a normal answer with a wait before each word, or before each piece of a JSON body.
func (x *exchange) answer(pace time.Duration) {
	if x.streams() {
		x.stream(x.open(), pace)
		return
	}
	status, body := x.whole()
	x.promise(status, jsonMedia, len(body))
	x.drip(inPieces(body), pace)
}

// stream sends the events of a stream that is open.
func (x *exchange) stream(s stream, pace time.Duration) {
	x.send(s.opening...)
	x.drip(s.content, pace)
	x.send(s.ending...)
}

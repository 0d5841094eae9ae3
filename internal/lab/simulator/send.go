package simulator

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
)

const (
	jsonMedia = "application/json"

	// pieces is the number of pieces of a dripping JSON body.
	pieces = 8

	page = "<!DOCTYPE html>\n<html><head><title>Maintenance</title></head>" +
		"<body><h1>We will be back soon</h1></body></html>\n"
)

// open sends a stream's headers and returns its events.
func (x *exchange) open() stream {
	media := x.call.form.ContentType()
	if own := x.forms[map[api.Form]string{api.Events: "media", api.Array: "media of an array"}[x.call.form]]; own != nil {
		media = own[0]
	}
	x.w.Header().Set("Content-Type", media)
	x.w.Header().Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	x.flush()
	return x.events()
}

// send writes and flushes parts. It ignores errors: the client has left, or the
// script violates HTTP with a 304 with a body, for example.
func (x *exchange) send(parts ...string) {
	for _, part := range parts {
		if _, err := io.WriteString(x.w, part); err != nil {
			return
		}
		x.flush()
	}
}

// flush sends buffered data if the writer supports it.
func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }

// drip sends parts with a wait before each.
func (x *exchange) drip(parts []string, every time.Duration) {
	for _, part := range parts {
		x.wait(every)
		x.send(part)
	}
}

// promise sends headers with a Content-Length.
func (x *exchange) promise(status int, media string, length int) {
	x.w.Header().Set("Content-Type", media)
	x.w.Header().Set("Content-Length", strconv.Itoa(length))
	x.w.WriteHeader(status)
	x.flush()
}

// body sends one body at once.
func (x *exchange) body(status int, media, body string) {
	x.promise(status, media, len(body))
	x.send(body)
}

// inPieces splits a body for a slow answer.
func inPieces(body string) []string {
	parts := make([]string, pieces)
	for i := range parts {
		parts[i] = body[i*len(body)/pieces : (i+1)*len(body)/pieces]
	}
	return parts
}

// wait waits. It aborts the exchange when the client leaves or the provider closes.
func (x *exchange) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	x.until(timer.C)
}

// silent waits, for ever if the time is 0, and aborts as wait does.
func (x *exchange) silent(d time.Duration) {
	if d == 0 {
		x.until(nil)
	}
	x.wait(d)
}

// until waits for a channel, nil to wait for ever, and aborts as wait does.
func (x *exchange) until(moment <-chan time.Time) {
	select {
	case <-moment:
	case <-x.r.Context().Done():
		abort()
	case <-x.closed:
		abort()
	}
}

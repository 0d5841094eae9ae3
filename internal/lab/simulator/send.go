package simulator

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	jsonMedia = "application/json"

	// pieces is how many a dripping JSON body comes in.
	pieces = 8

	page = "<!DOCTYPE html>\n<html><head><title>Maintenance</title></head>" +
		"<body><h1>We will be back soon</h1></body></html>\n"
)

// open sends a stream's headers and gives its events.
func (x *exchange) open() stream {
	s := x.endpoint.stream(x.call)
	x.w.Header().Set("Content-Type", s.media)
	x.w.Header().Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	x.flush()
	return s
}

// send writes parts, each as soon as it is there. An error means that the
// client left or that the script asks for what HTTP forbids, such as a 304
// with a body: there is nobody to tell.
func (x *exchange) send(parts ...string) {
	for _, part := range parts {
		if _, err := io.WriteString(x.w, part); err != nil {
			return
		}
		x.flush()
	}
}

// flush sends what is buffered, where the writer can.
func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }

// drip sends parts with a wait before each.
func (x *exchange) drip(parts []string, every time.Duration) {
	for _, part := range parts {
		x.wait(every)
		x.send(part)
	}
}

// promise sends the headers of a body of a known length.
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

// inPieces cuts a body into as many parts as a slow one comes in.
func inPieces(body string) []string {
	parts := make([]string, pieces)
	for i := range parts {
		parts[i] = body[i*len(body)/pieces : (i+1)*len(body)/pieces]
	}
	return parts
}

// wait waits. The client or the provider going ends the exchange at once.
func (x *exchange) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	x.until(timer.C)
}

// until waits for a moment that may never come.
func (x *exchange) until(moment <-chan time.Time) {
	select {
	case <-moment:
	case <-x.r.Context().Done():
		abort()
	case <-x.closed:
		abort()
	}
}

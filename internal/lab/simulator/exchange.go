package simulator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxBody is the longest request that is read, the vendors' own limit.
const maxBody = 32 << 20

// exchange is a request with its answer.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	closed <-chan struct{}           // closed with the provider
	keep   func(call, time.Duration) // keeps an answer in the background
	stored *background               // that the request is about; nil: it is about none
	pace   time.Duration             // the wait before each word of a stream

	dialect  dialect
	endpoint endpoint
	call     call
	most     float64  // the longest answer that it asks for, in tokens; 0: it does not say
	wrong    *problem // the error of an invalid request; nil: none
	seen     Request
}

// ServeHTTP answers one request. It breaks connections with http.ErrAbortHandler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_, large := errors.AsType[*http.MaxBytesError](err)
	if err != nil && !large {
		abort() // the client left
	}
	x := &exchange{w: w, r: r, closed: p.closed, keep: p.keepBackground, dialect: dialectOf(r)}
	x.seen = Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: kept(body)}
	x.read(body, large)
	x.call.prompt = 1 + len(body)/4
	x.say(Say{Text: p.script.Answer})
	if len(p.buckets) > 0 {
		x.most = longest(body)
	}
	if x.endpoint.stored {
		p.findBackground(x)
	}
	if x.streams() {
		x.pace = p.script.Pace
	}
	d := p.decide(x)
	p.report(x.seen)
	x.head(d)
	d.reply.play(x)
}

func (p *Provider) report(q Request) {
	if p.script.OnRequest != nil {
		p.script.OnRequest(q)
	}
}

// kept returns the part of a body that the record keeps.
func kept(body []byte) []byte {
	return bytes.Clone(body[:min(len(body), maxKeptBody)])
}

// read parses the request.
func (x *exchange) read(body []byte, large bool) {
	endpoint, model, found := x.dialect.find(x.r)
	x.endpoint, x.call.model = endpoint, model
	switch {
	case !found:
		x.wrong = &problem{status: http.StatusNotFound, message: fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, x.r.URL.Path)}
	case large:
		x.wrong = &problem{status: http.StatusRequestEntityTooLarge}
	case endpoint.read != nil:
		x.wrong = endpoint.read(ask{model, body}, &x.call)
	}
	if x.wrong == nil && isUnknown(x.call.model) {
		x.wrong = x.dialect.denial(noModel, x)
	}
	x.seen.Images = imagesIn(body)
	if x.wrong == nil && len(x.seen.Images) > 0 && takesText(x.call.model) {
		x.wrong = x.dialect.denial(noImages, x)
	}
}

// outcome returns the outcome for the record.
func (x *exchange) outcome(r Reply) string {
	if _, ok := r.(OK); ok && x.wrong != nil {
		return strconv.Itoa(x.wrong.status)
	}
	return outcome(r)
}

// head sets the headers that every answer has.
func (x *exchange) head(d decision) {
	h := x.w.Header()
	if x.dialect.idHeader != "" {
		h.Set(x.dialect.idHeader, "req_"+x.call.id)
	}
	if d.limit != nil && x.dialect.hints != nil {
		x.dialect.hints(h, *d.limit)
	}
	if len(d.rates) > 0 && x.dialect.rates != nil {
		x.dialect.rates(h, d.rates)
	}
	if d.last {
		h.Set("Connection", "close")
	}
}

// streams reports whether the answer is a stream.
func (x *exchange) streams() bool {
	return x.call.stream && x.endpoint.stream != nil && x.wrong == nil
}

// whole returns the answer as one JSON body, or the error of an invalid request.
func (x *exchange) whole() (status int, body string) {
	if x.wrong != nil {
		return x.wrong.status, x.failureOf(x.wrong)
	}
	if x.stored != nil {
		return http.StatusOK, x.stored.whole()
	}
	return http.StatusOK, x.endpoint.whole(&x.call)
}

// failureOf returns the body of an error, and sets the header with its type.
func (x *exchange) failureOf(p *problem) string {
	p.id = x.call.id
	if x.dialect.typeHeader != "" {
		x.w.Header().Set(x.dialect.typeHeader, x.dialect.failureType(p))
	}
	return x.dialect.failure(p)
}

// failure returns the body of an error with the vendor's usual message. It repeats
// Retry-After where the dialect has a member for it.
func (x *exchange) failure(status int) string {
	seconds, _ := strconv.ParseUint(x.w.Header().Get("Retry-After"), 10, 32) // 0 for a date or none
	return x.failureOf(&problem{status: status, wait: time.Duration(seconds) * time.Second})
}

// abort breaks the connection without another byte.
func abort() { panic(http.ErrAbortHandler) }

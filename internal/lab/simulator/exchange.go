package simulator

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/api"
)

// maxBody is the longest request that is read, the vendors' own limit.
const maxBody = 32 << 20

// exchange is a request with its answer.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	closed <-chan struct{} // closed with the provider
	pace   time.Duration   // the wait before each word of a stream

	dialect  dialect
	endpoint endpoint
	forms    api.Forms // what the two write
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
	x := &exchange{w: w, r: r, closed: p.closed, dialect: dialectOf(r)}
	x.seen = Request{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: bytes.Clone(body[:min(len(body), maxKeptBody)])}
	x.read(body, large)
	x.call.prompt = 1 + len(body)/4
	x.say(Say{Text: p.script.Answer})
	if len(p.buckets) > 0 {
		x.most = longest(body)
	}
	if x.streams() {
		x.pace = p.script.Pace
	}
	d := p.decide(x)
	p.report(x.seen)
	x.setHeaders(d)
	d.reply.play(x)
}

func (p *Provider) report(q Request) {
	if p.script.OnRequest != nil {
		p.script.OnRequest(q)
	}
}

// read parses the request.
func (x *exchange) read(body []byte, large bool) {
	endpoint, model, found := x.dialect.find(x.r)
	var asked api.Request
	if x.r.Method == http.MethodPost {
		asked = endpoint.api.Read(x.r.URL, body)
	}
	x.endpoint, x.forms, x.call.form, x.call.model = endpoint, endpoint.forms, asked.Form, cmp.Or(model, asked.Model)
	switch {
	case !found:
		x.wrong = &problem{Status: http.StatusNotFound, Message: fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, x.r.URL.Path)}
	case large:
		x.wrong = &problem{Status: http.StatusRequestEntityTooLarge}
	case x.r.Method == http.MethodPost:
		if x.wrong = x.dialect.read(ask{endpoint.api.Name(), x.r.URL.Path, body}, &x.call); x.wrong != nil && x.wrong.Message == "" {
			x.wrong = x.denied(noPrefill)
		}
	}
	if x.wrong == nil && strings.HasPrefix(x.call.model, "no-such") {
		x.wrong = x.denied(noModel)
	}
	x.seen.Images = imagesIn(body)
	if x.wrong == nil && len(x.seen.Images) > 0 && strings.HasPrefix(x.call.model, "text-only") {
		x.wrong = x.denied(noImages)
	}
}

// outcome returns the outcome for the record.
func (x *exchange) outcome(r Reply) string {
	if r == OK && x.wrong != nil {
		return strconv.Itoa(x.wrong.Status)
	}
	return outcome(r)
}

// setHeaders sets the headers that every answer has.
func (x *exchange) setHeaders(d decision) {
	x.headers("header", "{id}", x.call.id)
	if d.limit != nil {
		x.hint("requests", float64(d.limit.limit), float64(d.limit.left), d.limit.in)
	}
	for _, b := range d.rates {
		x.hint(b.Unit, b.N, b.left, time.Duration((1-b.left/b.N)*float64(time.Minute)).Round(time.Microsecond))
	}
	if d.last {
		x.w.Header().Set("Connection", "close")
	}
}

// streams reports whether the answer is a stream.
func (x *exchange) streams() bool {
	return x.call.form != api.JSON && x.endpoint.whole() == "" && x.wrong == nil
}

// whole returns the answer as one JSON body, or the error of an invalid request.
func (x *exchange) whole() (status int, body string) {
	if x.wrong != nil {
		return x.wrong.Status, x.failureOf(x.wrong)
	}
	return http.StatusOK, x.json()
}

// abort breaks the connection without another byte.
func abort() { panic(http.ErrAbortHandler) }

// hint states what is left of a limit, in the vendor's headers, and the time until more is.
func (x *exchange) hint(unit string, limit, left float64, in time.Duration) {
	number := func(n float64) string { return strconv.FormatFloat(math.Floor(n), 'f', 0, 64) }
	x.headers("limit header", "{unit}", unit, "{limit}", number(limit), "{left}", number(left),
		"{opens}", roundUp(x.call.at.Add(in)).UTC().Format(time.RFC3339), "{in}", inMilliseconds(in))
}

// headers sets the headers that the vendor has by a name.
func (x *exchange) headers(name string, replace ...string) {
	for _, line := range x.forms[x.own(name)] {
		if header, value, ok := strings.Cut(strings.NewReplacer(replace...).Replace(line), ": "); ok {
			x.w.Header().Set(header, value)
		}
	}
}

// roundUp rounds t up to a second, so that a client that obeys it is not early.
func roundUp(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).Truncate(time.Second)
}

// inSeconds returns a wait in whole seconds, so that a client that waits as long is not early.
func inSeconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// inMilliseconds does the same to a millisecond, in words.
func inMilliseconds(d time.Duration) string {
	return (d + time.Millisecond - time.Nanosecond).Truncate(time.Millisecond).String()
}

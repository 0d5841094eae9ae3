package simulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The source of what follows: platform.openai.com, "Background mode". Such an answer goes on without its client,
// whose connection may break. It is streamed again for a time, and kept for another.
const (
	streamedFor = 5 * time.Minute  // since it began
	keptFor     = 10 * time.Minute // since it was complete
)

// background is an answer that is generated in the background.
type background struct {
	call     call
	begun    time.Time
	pace     time.Duration // before each word
	canceled time.Time     // zero: it is not
}

// keepBackground keeps an answer that begins.
func (p *Provider) keepBackground(c call, pace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.behind == nil {
		p.behind = make(map[string]*background)
	}
	p.behind["resp_"+c.id] = &background{call: c, begun: time.Now(), pace: pace}
}

// findBackground finds the answer that a request is about, and cancels it if it is asked to.
func (p *Provider) findBackground(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, query := p.behind[x.call.model], x.r.URL.Query()
	switch now := time.Now(); {
	case x.wrong != nil:
	case b == nil || now.After(b.complete().Add(keptFor)):
		x.wrong = &problem{status: http.StatusNotFound, message: fmt.Sprintf("Response with id '%s' not found.", x.call.model)}
	case x.r.Method == http.MethodPost:
		if b.canceled.IsZero() && now.Before(b.complete()) {
			b.canceled = now
		}
		canceled := *b
		x.stored = &canceled
	case query.Get("stream") == "true" && now.After(b.begun.Add(streamedFor)):
		x.wrong = bad("This response can no longer be streamed. Retrieve it without 'stream' instead.").about("stream")
	default:
		found := *b
		x.stored = &found
	}
}

// complete returns when the answer is complete.
func (b *background) complete() time.Time {
	if !b.canceled.IsZero() {
		return b.canceled
	}
	return b.begun.Add(time.Duration(len(responsesStream(&b.call).content)) * b.pace)
}

// whole returns the answer as it is now, as JSON.
func (b *background) whole() string {
	begun := b.call
	begun.said.Stop = ""
	switch {
	case !b.canceled.IsZero():
		return responsesObject(&begun, "cancelled", "null", "", "null")
	case time.Now().Before(b.complete()):
		return responsesObject(&begun, "in_progress", "null", "", "null")
	}
	return responsesWhole(&b.call)
}

// play sends the answer, or its events behind one, each when it has come.
func (b *background) play(x *exchange) {
	query := x.r.URL.Query()
	if query.Get("stream") != "true" {
		x.body(http.StatusOK, jsonMedia, b.whole())
		return
	}
	after := -1
	if n, err := strconv.Atoi(query.Get("starting_after")); err == nil {
		after = n
	}
	s := responsesStream(&b.call)
	x.w.Header().Set("Content-Type", s.media)
	x.w.WriteHeader(http.StatusOK)
	x.flush()
	number := 0
	send := func(some string) {
		for event := range strings.SplitAfterSeq(some, "\n\n") {
			if event != "" && number > after {
				x.send(event)
			}
			if event != "" {
				number++
			}
		}
	}
	for _, some := range s.opening {
		send(some)
	}
	for i, some := range s.content {
		x.wait(time.Until(b.begun.Add(time.Duration(i+1) * b.pace)))
		send(some)
	}
	for _, some := range s.ending {
		send(some)
	}
}

package main

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// provider plays the provider behind a gateway. It finds out by the prompt which check a request is for.
type provider struct {
	addr   string
	server *http.Server
	ended  sync.WaitGroup // of the server and its requests

	mu      sync.Mutex
	scripts map[string]*script // by the mark of their check
}

// newProvider serves on a listener until it is closed.
func newProvider(l net.Listener) *provider {
	p := &provider{addr: l.Addr().String(), scripts: map[string]*script{}}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	p.ended.Go(func() { _ = p.server.Serve(l) })
	return p
}

// close ends all connections.
func (p *provider) close() {
	_ = p.server.Close()
	p.ended.Wait()
}

// script is what the provider does with the requests of one check.
type script struct {
	play handler

	mu       sync.Mutex
	requests []received
}

// handler answers one request.
type handler func(w http.ResponseWriter, r received)

// received is a request that has reached the provider.
type received struct {
	uri    string
	header http.Header
	body   []byte
	ctx    context.Context // until the connection ends
	number int             // 0 for the first of its check
}

// last returns the request that came last; false: none has come.
func (s *script) last() (r received, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return r, false
	}
	return s.requests[len(s.requests)-1], true
}

// add keeps a request and returns it with its number.
func (s *script) add(r received) received {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.number = len(s.requests)
	s.requests = append(s.requests, r)
	return r
}

// expect sets what is done with the requests of a check.
func (p *provider) expect(mark string, play handler) *script {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &script{play: play}
	p.scripts[mark] = s
	return s
}

// find returns the script for a request's body; nil: it is not one of a check's.
func (p *provider) find(body []byte) *script {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.scripts[string(marks().Find(body))]
}

// marks finds the mark of a check.
var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`conform-[A-Z2-7]{26}`) })

// ServeHTTP answers a request of a check by its script, and others as a provider with one model.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.ended.Add(1)
	defer p.ended.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if s := p.find(body); s != nil {
		s.play(w, s.add(received{uri: r.URL.RequestURI(), header: r.Header, body: body, ctx: r.Context()}))
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		send(w, http.StatusOK, modelsBody)
	case "/":
	default:
		send(w, http.StatusNotFound, errorBody("not_found_error", "Not found"))
	}
}

// modelsBody is the list of models.
const modelsBody = `{"data":[{"type":"model","id":"claude-conform","display_name":"Conform","created_at":"2026-01-01T00:00:00Z"}],"has_more":false,"first_id":"claude-conform","last_id":"claude-conform"}`

// send sends a body as JSON, with the headers of every answer.
func send(w http.ResponseWriter, status int, body string) {
	maps.Copy(w.Header(), answerHeaders)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// stream sends a part of a stream at once, the headers before the first.
func stream(w http.ResponseWriter, part string) {
	if w.Header().Get("Content-Type") == "" {
		maps.Copy(w.Header(), answerHeaders)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	_, _ = io.Copy(w, bytes.NewReader([]byte(part)))
	_ = http.NewResponseController(w).Flush()
}

// answerHeaders are the headers of every answer, which clients read. The last is unknown to all.
var answerHeaders = http.Header{
	"Request-Id":                                 {"req_conform"},
	"Anthropic-Organization-Id":                  {"org-conform"},
	"Anthropic-Ratelimit-Requests-Remaining":     {"41"},
	"Anthropic-Ratelimit-Unified-Status":         {"allowed"},
	"Anthropic-Ratelimit-Unified-5h-Utilization": {"0.5"},
	"Anthropic-Ratelimit-Input-Tokens-Limit":     {"1000"},
	"Anthropic-Conform-Later":                    {"yes"},
}

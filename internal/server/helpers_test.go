package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/server"
)

// fake is a gateway that records its actions.
type fake struct {
	mu        sync.Mutex
	waits     []gateway.Wait
	upstreams []gateway.Health
	acts      []string
	serve     http.HandlerFunc // nil: 200
	drained   int
	closed    int
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.serve != nil {
		f.serve(w, r)
	}
}

func (f *fake) Waits() []gateway.Wait {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waits
}

func (f *fake) Upstreams() []gateway.Health {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.upstreams
}

func (f *fake) Act(id int64, do gateway.Command) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts = append(f.acts, string(do))
	return id == 17
}

func (f *fake) ActOn(upstream string, do gateway.Command) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts = append(f.acts, upstream+" "+string(do))
	return true
}

func (f *fake) Drain() { f.mu.Lock(); f.drained++; f.mu.Unlock() }
func (f *fake) Close() { f.mu.Lock(); f.closed++; f.mu.Unlock() }

func (f *fake) WaitSockets(context.Context) error { return nil }

// show replaces what the fake shows.
func (f *fake) show(waits []gateway.Wait, upstreams []gateway.Health) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits, f.upstreams = waits, upstreams
}

// request returns a request that the server admits; headers are names and values.
func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8484"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// ask returns the answer of a handler.
func ask(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// message returns the detail of a problem.
func message(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var body struct{ Detail string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("no error in JSON: %q", w.Body)
	}
	return body.Detail
}

// testServer is a server that runs on a pipe, for a bubble.
type testServer struct {
	*testing.T
	pipe   *simulator.Pipe
	client *http.Client
	stop   context.CancelFunc
	ended  chan error // the result of Run
}

func run(t *testing.T, c server.Config) *testServer {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &testServer{T: t, pipe: simulator.NewPipe(), stop: cancel, ended: make(chan error, 1)}
	w.client = &http.Client{Transport: &http.Transport{DialContext: w.pipe.DialContext}}
	s := server.New(c)
	over := make(chan struct{})
	go func() { defer close(over); w.ended <- s.Run(ctx, w.pipe) }()
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		cancel()
		<-over
	})
	return w
}

// reader reads a stream of events.
type reader struct {
	t      *testing.T
	body   io.ReadCloser
	lines  *bufio.Scanner
	events chan event // closed at the end
}

// event is one server-sent event, or a comment.
type event struct{ id, name, data, comment string }

// read opens a stream.
func (w *testServer) read(path string, headers ...string) *reader {
	w.Helper()
	req, _ := http.NewRequestWithContext(w.Context(), "GET", "http://localhost"+path, nil)
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.Fatalf("GET %s: %v", path, err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.Fatalf("%s: %s", path, resp.Status)
	}
	r := &reader{t: w.T, body: resp.Body, lines: bufio.NewScanner(resp.Body), events: make(chan event, 10_000)}
	go r.follow()
	return r
}

// follow reads until the stream ends.
func (r *reader) follow() {
	defer close(r.events)
	r.lines.Buffer(nil, 1<<20)
	var e event
	for r.lines.Scan() {
		line := r.lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if line != "" {
				e.comment = value
			} else if e != (event{}) {
				r.events <- e
				e = event{}
			}
		}
	}
}

// next waits for an event; the zero event is the end.
func (r *reader) next() event { return <-r.events }

// seen returns the events so far, without waiting.
func (r *reader) seen() (all []event) {
	synctest.Wait()
	for {
		select {
		case e, ok := <-r.events:
			if !ok {
				return all
			}
			all = append(all, e)
		default:
			return all
		}
	}
}

func (r *reader) close() { _ = r.body.Close() }

package gateway_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
)

// echo is two providers that fail from time to time. Their answers name the
// request's body and its client.
type echo struct {
	t    *testing.T
	open atomic.Int64 // answers' bodies that are not closed
}

// answered returns an echo's answer to a body from the client with that key.
func answered(body []byte, key string) string {
	return fmt.Sprintf("%x from %s", sha256.Sum256(body), key)
}

func (e *echo) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil || int64(len(body)) != req.ContentLength {
		e.t.Errorf("%d bytes of %d, %v", len(body), req.ContentLength, err)
	}
	key := req.Header.Get("X-Api-Key")
	if away := req.URL.Host == "second.test"; away != (key == "second's") {
		e.t.Errorf("%s got the key %s", req.URL.Host, key)
	}
	return e.answer(req, answered(body, key))
}

// answer returns a random answer of a provider, during outages mostly a failure.
func (e *echo) answer(req *http.Request, words string) (*http.Response, error) {
	stop, dice := messageStop, rand.IntN(100)
	if out := time.Now().Unix()/100%2 == 0; !out {
		dice = 90 + dice/10
	}
	switch {
	case dice < 10:
		return nil, errors.New("read: connection reset by peer")
	case dice < 50:
		return e.says(req, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	case dice < 60:
		return e.says(req, 200, messageStart+"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n")
	case dice < 62:
		return e.says(req, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`)
	case dice < 70:
		if err := retry.Sleep(req.Context(), time.Duration(rand.IntN(200))*time.Second); err != nil {
			return nil, err
		}
	case dice < 80:
		stop = "" // it breaks off
	}
	return e.says(req, 200, messageStart+strings.Replace(messageHi, "Hi", words, 1)+stop)
}

func (e *echo) says(req *http.Request, status int, text string) (*http.Response, error) {
	kind := "text/event-stream"
	if status != 200 {
		kind = "application/json"
	}
	resp, _ := says(status, text, "Content-Type", kind)(req)
	e.open.Add(1)
	resp.Body = &counted{ReadCloser: resp.Body, open: &e.open}
	return resp, nil
}

// counted is a body that counts how often it is closed, once.
type counted struct {
	io.ReadCloser
	once sync.Once
	open *atomic.Int64
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.ReadCloser.Close()
}

// window is the client's side of a request. It checks the rules for handlers.
type window struct {
	t      *testing.T
	mu     sync.Mutex
	header http.Header
	status int
	text   strings.Builder
	over   bool
}

func (w *window) Header() http.Header { return w.header }

func (w *window) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.status != 0 {
		w.t.Errorf("status %d after %d", status, w.status)
	}
	w.status = status
}

func (w *window) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		w.t.Errorf("%q after the end", p)
	}
	return w.text.Write(p)
}

// send has the gateway serve one request and returns the client's view of it.
func (w *window) ask(ctx context.Context, h http.Handler, body, key, count string) (text string) {
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://gateway.test/v1/messages", strings.NewReader(body))
	req.RequestURI = req.URL.RequestURI()
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("X-Stainless-Retry-Count", count)
	defer func() {
		if r := recover(); r != nil && r != http.ErrAbortHandler {
			panic(r)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over, text = true, w.text.String()
	}()
	h.ServeHTTP(w, req)
	return ""
}

// twice is a configuration of two upstreams, the second of which takes over.
func twice(e *echo, dir string) gateway.Config {
	return gateway.Config{
		Policy: policy.Interactive(), Base: e, Spool: gateway.Spool{Memory: 100 << 10, Dir: dir},
		Upstreams: []gateway.Upstream{
			{Name: "first", API: "anthropic", Base: address("first.test"), Fallback: []gateway.Fallback{{To: "second", After: 40 * time.Second}}},
			{Name: "second", API: "anthropic", Base: address("second.test"), Key: func() (string, error) { return "second's", nil }},
		},
	}
}

// rounds returns how often a test is run: once with -short.
func rounds(n int) int {
	if testing.Short() {
		return 1
	}
	return n
}

// TestStress_AnswersAreNotMixedUp has clients come and go at random and send
// requests again, and operators send commands, while both providers fail from
// time to time.
func TestStress_AnswersAreNotMixedUp(t *testing.T) {
	dir := t.TempDir()
	for range rounds(2) {
		synctest.Test(t, func(t *testing.T) {
			e := &echo{t: t}
			g := newGateway(t, twice(e, dir))
			ctx, stop := context.WithCancel(t.Context())
			var people, clients sync.WaitGroup
			people.Go(func() { changeAtRandom(ctx, g, twice(e, dir)) })
			answers := make(map[bool]int)
			var mu sync.Mutex
			for n := range 30 {
				clients.Go(func() {
					for range 3 {
						whole := client(t, g, n)
						mu.Lock()
						answers[whole]++
						mu.Unlock()
					}
				})
			}
			clients.Wait()
			stop()
			people.Wait()
			synctest.Wait()
			if answers[true] < 10 {
				t.Errorf("%d whole answers, %d others", answers[true], answers[false])
			}
			nothingIsLeft(t, g, e)
		})
	}
}

func TestStress_CloseLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	for range rounds(4) {
		synctest.Test(t, func(t *testing.T) {
			e := &echo{t: t}
			g := newGateway(t, twice(e, dir))
			moment := time.Duration(rand.IntN(150)) * time.Second
			time.AfterFunc(moment, g.Drain)
			time.AfterFunc(moment+10*time.Second, g.Close)
			var clients sync.WaitGroup
			for n := range 30 {
				clients.Go(func() { client(t, g, n) })
			}
			clients.Wait()
			synctest.Wait()
			nothingIsLeft(t, g, e)
		})
	}
}

// TestStress_LocksHaveAnOrder has all that takes a lock happen at once: sessions come and go, are given answers that
// they had left, wait and are counted, while operators look and command. The race detector sees each of them.
func TestStress_LocksHaveAnOrder(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{t: t}
		c := twice(e, dir)
		c.Detached = gateway.Detached{Agents: []string{gateway.AllAgents}, Time: time.Minute, Tries: true}
		c.Share = func(string, *url.URL, *breaker.Breaker, *ratelimit.Table) func() { return nil }
		var replayed, detached atomic.Int64
		c.OnEvent = func(e gateway.Event) {
			if e.Replayed != 0 {
				replayed.Add(1)
			}
			if e.Detached {
				detached.Add(1)
			}
		}
		g := newGateway(t, c)
		ctx, stop := context.WithCancel(t.Context())
		var people, clients sync.WaitGroup
		people.Go(func() { changeAtRandom(ctx, g, c) })
		people.Go(func() {
			for retry.Sleep(ctx, time.Second) == nil {
				g.Upstreams()
				g.Delivered("unknown")
			}
		})
		for n := range 30 {
			session := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Set(sessionID, fmt.Sprintf("s%d", n%10))
				g.ServeHTTP(w, r)
			})
			clients.Go(func() {
				for done := 0; done < 4 || replayed.Load() == 0 && done < 40; done++ {
					client(t, session, n)
				}
			})
		}
		clients.Wait()
		stop()
		people.Wait()
		time.Sleep(5 * time.Minute) // what is kept is forgotten
		synctest.Wait()
		if replayed.Load() == 0 || detached.Load() == 0 {
			t.Errorf("%d answers were given again, and %d requests went on without a client; want some", replayed.Load(), detached.Load())
		}
		nothingIsLeft(t, g, e)
	})
}

// nothingIsLeft checks that the gateway is as before the first request.
func nothingIsLeft(t *testing.T, g *gateway.Gateway, e *echo) {
	t.Helper()
	if flights, waits, memory, disk := g.Left(); flights+waits != 0 || memory+disk != 0 {
		t.Errorf("left: %d flights, %d waits, %d and %d bytes", flights, waits, memory, disk)
	}
	for _, u := range g.Upstreams() {
		if u.Breaker.Waiting != 0 {
			t.Errorf("%d requests wait at the breaker of %s", u.Breaker.Waiting, u.Name)
		}
	}
	if n := e.open.Load(); n != 0 {
		t.Errorf("%d bodies are open", n)
	}
}

// changeAtRandom sends commands and new configurations until its context ends,
// and then resumes all upstreams.
func changeAtRandom(ctx context.Context, g *gateway.Gateway, c gateway.Config) {
	commands := []gateway.Command{gateway.RetryNow, gateway.RetryNow, gateway.Pause, gateway.Resume, gateway.GiveUp}
	for retry.Sleep(ctx, time.Duration(rand.IntN(5000))*time.Millisecond) == nil {
		switch all := g.Waits(); rand.IntN(10) {
		case 0:
			_ = g.Use(c)
		case 1:
			g.ActOn("first", gateway.Pause)
		case 2, 3:
			g.ActOn("first", gateway.Resume)
		case 4:
			g.ActOn("second", gateway.RetryNow)
		default:
			if len(all) > 0 {
				g.Act(all[rand.IntN(len(all))].ID, commands[rand.IntN(len(commands))])
			}
		}
		for _, wait := range g.Waits() {
			if rand.IntN(3) == 0 {
				g.Act(wait.ID, gateway.Resume)
			}
		}
	}
	g.ActOn("first", gateway.Resume)
}

// client sends one request until it has an answer or stops retrying, and reports
// whether the answer was whole.
func client(t *testing.T, g http.Handler, n int) bool {
	time.Sleep(time.Duration(rand.IntN(60000)) * time.Millisecond)
	body := fmt.Sprintf(`{"model":"claude-%d","n":%d,"nonce":%d,`, n%3, n, rand.Int()) + prose([]int{100, 20 << 10, 100 << 10}[n%3])[1:]
	key := fmt.Sprintf("key-%d", n%2)
	for try := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(90))*time.Second)
		var both sync.WaitGroup
		var whole atomic.Bool
		for again := range 1 + rand.IntN(3) {
			both.Go(func() {
				time.Sleep(time.Duration(rand.IntN(1+again*20000)) * time.Millisecond)
				patient, cancel := context.WithTimeout(ctx, time.Duration(1+rand.IntN(90))*time.Second)
				defer cancel()
				w := &window{t: t, header: http.Header{}}
				text := w.ask(patient, g, body, key, fmt.Sprint(try+again))
				own := strings.Contains(text, answered([]byte(body), key)) || strings.Contains(text, answered([]byte(body), "second's"))
				if strings.Contains(text, "text_delta") && !own {
					t.Errorf("%d got the answer of another: %q", n, text)
				}
				if strings.HasSuffix(text, messageStop) {
					whole.Store(true)
				}
			})
		}
		both.Wait()
		cancel()
		if whole.Load() {
			return true
		}
	}
	return false
}

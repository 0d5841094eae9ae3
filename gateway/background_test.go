package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// inBackground is a request whose answer the provider generates in the background.
var inBackground = `{"background":true,"reasoning":{"summary":"auto"},` + codex[1:]

// storedCodex is the same as its client sends it.
var storedCodex = `{"reasoning":{"summary":"auto"},` + codex[1:]

// background is a provider that has one answer in the background. Its first connection breaks off.
type background struct {
	*broken
	mu       sync.Mutex // requests that cancel an answer come from goroutines of their own
	stream   string     // the whole answer
	streamed bool       // it is streamed again; else it is had in one piece
	breaks   int        // so many connections for the rest break off behind their first event
	instead  string     // the rest; "": that of the answer
	asked    []string   // all requests
}

// RoundTrip implements http.RoundTripper.
func (p *background) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, req.Method+" "+req.URL.RequestURI())
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/responses") {
		return p.broken.RoundTrip(req)
	}
	answer := func(status int, kind, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	}
	after, err := strconv.Atoi(req.URL.Query().Get("starting_after"))
	switch {
	case req.Method == http.MethodPost:
		return answer(200, "application/json", `{"status":"cancelled"}`)
	case req.URL.Query().Get("stream") != "true":
		return answer(200, "application/json", lastResponse(p.stream))
	case !p.streamed || err != nil:
		return answer(400, "application/json", `{"error":{"message":"This response can no longer be streamed.","type":"invalid_request_error"}}`)
	}
	if p.instead != "" {
		return answer(200, p.kind, p.instead)
	}
	rest := strings.SplitAfter(p.stream, "\n\n")[after+1:]
	if p.breaks > 0 && len(rest) > 2 {
		p.breaks--
		rest = rest[:1]
	}
	return answer(200, p.kind, strings.Join(rest, ""))
}

// lastResponse returns the response in the last event of a stream.
func lastResponse(stream string) string {
	frames := strings.Split(strings.TrimSpace(stream), "\n\n")
	_, data, _ := strings.Cut(frames[len(frames)-1], "data: ")
	var last struct{ Response json.RawMessage }
	_ = json.Unmarshal([]byte(data), &last)
	return string(last.Response)
}

// withoutComments returns the events of a stream.
func withoutComments(stream string) string {
	var all []string
	for frame := range strings.SplitAfterSeq(stream, "\n\n") {
		if !strings.HasPrefix(frame, ":") {
			all = append(all, frame)
		}
	}
	return strings.Join(all, "")
}

// backgroundUpstreams has the answers that are stored generated in the background.
func backgroundUpstreams() []gateway.Upstream {
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Background = gateway.BackgroundStored
		upstreams[i].Limits = &gateway.Limits{Idle: time.Minute}
	}
	return upstreams
}

// An answer in the background that breaks off, anywhere and in whatever way, is resumed at its next event: the
// client has the events of an answer that has not broken off, byte by byte.
func TestBackground_BreakAnywhere(t *testing.T) {
	for _, answer := range breaks {
		t.Run(answer.name, func(t *testing.T) {
			t.Parallel()
			stream, kind := record(t, "/v1/responses", inBackground, answer.first)
			want := strings.ReplaceAll(stream, `"background":true`, `"background":false`)
			synctest.Test(t, func(t *testing.T) {
				p := &background{broken: &broken{kind: kind}, stream: stream, streamed: true}
				g := newGateway(t, gateway.Config{Upstreams: backgroundUpstreams(), Policy: policy.Patient(), Base: p})
				eachBreak(t, p, func(n int, how ending, resumes bool) {
					p.breaks = n % 3
					w := serve(g, "/v1/responses", storedCodex, "")
					if got := withoutComments(w.String()); got != want || w.cut {
						t.Fatalf("broken at byte %d of %d, ending %d, asked %q:\ngot  %q\nwant %q", n, len(stream), how, p.asked, got, want)
					}
					if cont := w.header.Get(http.TrailerPrefix + "X-Ridethrough-Continued"); resumes && cont == "" {
						t.Fatalf("broken at byte %d, ending %d: the trailer is %q, asked %q", n, how, cont, p.asked)
					}
				})
				synctest.Wait()
				if shared, waits, memory, _ := g.Left(); shared != 0 || waits != 0 || memory != 0 {
					t.Errorf("%d shared requests, %d waits and %d bytes are left", shared, waits, memory)
				}
			})
		})
	}
}

// eachBreak breaks an answer off between its events and at every sixteenth byte. resumes says that its client has
// an event of it by then.
func eachBreak(t *testing.T, p *background, check func(n int, how ending, resumes bool)) {
	t.Helper()
	every := 16
	if os.Getenv(everyByte) != "" {
		every = 1
	}
	for n := 1; n < len(p.stream); n++ {
		whole, between := brokenAt("/v1/responses", p.stream, n)
		if !between && n%every != 0 && n < len(p.stream)-4 {
			continue
		}
		for how := range failing {
			p.first, p.second, p.how, p.broken.asked, p.asked = p.stream[:n], p.stream, how, 0, nil
			check(n, how, strings.Contains(whole, ".delta") && n < len(p.stream)-2)
		}
	}
}

// An answer that is streamed no more is had whole, and the client is sent what it lacks of it.
func TestBackground_RestOfStoredAnswer(t *testing.T) {
	for _, answer := range breaks {
		t.Run(answer.name, func(t *testing.T) {
			t.Parallel()
			stream, kind := record(t, "/v1/responses", inBackground, answer.first)
			want, err := decode("/v1/responses", stream)
			if err != nil {
				t.Fatalf("decode the whole stream: %v", err)
			}
			synctest.Test(t, func(t *testing.T) {
				p := &background{broken: &broken{kind: kind}, stream: stream}
				g := newGateway(t, gateway.Config{Upstreams: backgroundUpstreams(), Policy: policy.Patient(), Base: p})
				eachBreak(t, p, func(n int, how ending, _ bool) {
					w := serve(g, "/v1/responses", storedCodex, "")
					got, err := decode("/v1/responses", w.String())
					if err != nil || w.cut || !slices.Equal(got.kept, want.kept) || !slices.Equal(got.reasoning, want.reasoning) || got.stop != want.stop || got.failed {
						t.Fatalf("broken at byte %d of %d, ending %d, asked %q: %v, decoded %+v, want %+v\n%s", n, len(stream), how, p.asked, err, got, want, w)
					}
				})
			})
		})
	}
}

// A rest that is none ends the answer with an error, and is not asked for again.
func TestBackground_RestThatIsNone(t *testing.T) {
	event := func(kind, more string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + more + "}\n\n"
	}
	stream, kind := record(t, "/v1/responses", inBackground, `say:"Hello there."`)
	begin := stream[:strings.Index(stream, "event: response.output_text.done")]
	for name, rest := range map[string]string{
		"failed":  event("response.failed", `,"sequence_number":99,"response":{"status":"failed","error":{"code":"server_error","message":"no"}}`),
		"skips":   event("response.output_text.delta", `,"sequence_number":90,"output_index":0,"content_index":0,"delta":"!"`),
		"numbers": event("response.output_text.delta", `,"output_index":0,"content_index":0,"delta":"!"`),
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &background{broken: &broken{kind: kind, first: begin}, stream: stream, streamed: true, instead: rest}
			g := newGateway(t, gateway.Config{Upstreams: backgroundUpstreams(), Policy: policy.Patient(), Base: p})
			w := serve(g, "/v1/responses", storedCodex, "")
			got, err := decode("/v1/responses", w.String())
			if err != nil || !got.failed || keptOf(got) != "text Hello there." || len(p.asked) > 3 {
				t.Errorf("%s: decoded %+v, error %v, asked %q, want the text and an error\n%s", name, got, err, p.asked, w)
			}
		})
	}
}

// asksOf returns how often a provider was asked for an answer, and the method of the last request.
func asksOf(p *simulator.Provider) (last string, posts int) {
	for _, r := range p.Requests() {
		if last = r.Method; r.Method == http.MethodPost {
			posts++
		}
	}
	return last, posts
}

// newBackground returns a gateway before a simulated provider that generates answers in the background.
func newBackground(t *testing.T, script simulator.Script) *completing {
	c := &completing{provider: simulator.New(script)}
	t.Cleanup(func() { _ = c.provider.Close() })
	upstreams := backgroundUpstreams()
	for i := range upstreams {
		upstreams[i].Limits.Idle = 10 * time.Minute
	}
	c.Gateway = newGateway(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: c.provider.Transport(), OnEvent: c.watch})
	return c
}

// An outage behind the break is waited for. The provider streams the rest for five minutes, has the answer for ten
// more, and then only what no client has been shown can be asked for again.
func TestBackground_OutageAfterABreak(t *testing.T) {
	const text, thought = `think:"Let me see."+say:"Hello there, it is me."`, `think:"Let me see."+say:Hello`
	for _, row := range []struct {
		name, words, cut string
		pace, outage     time.Duration
		failed           bool
		last             string // the method of the last request
		posts            int
	}{
		{"streamed", text, "cut:5", time.Second, 3 * time.Minute, false, "GET", 1},
		{"polled", text, "cut:5", time.Second, 6 * time.Minute, false, "GET", 1},
		{"polled while it is generated", text, "cut:5", time.Minute, 5*time.Minute + 30*time.Second, false, "GET", 1},
		{"expired", text, "cut:5", time.Second, 2 * time.Hour, true, "GET", 1},
		{"expired in its reasoning", thought, "cut:2", time.Second, 2 * time.Hour, false, "POST", 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			want := wanted(t, "/v1/responses", inBackground, row.words)
			g := newBackground(t, simulator.Script{
				Replies: replies(t, row.words+"+"+row.cut+", "+row.words), Pace: row.pace,
				Outages: []simulator.Outage{{From: 2 * time.Second, To: row.outage}},
			})
			begun := time.Now()
			w := serve(g.Gateway, "/v1/responses", storedCodex, "")
			took := time.Since(begun)
			got, err := decode("/v1/responses", w.String())
			if err != nil || got.failed != row.failed || !row.failed && keptOf(got) != keptOf(want) {
				t.Errorf("%s: decoded %+v, error %v, want %+v, failed %v\n%s", row.name, got, err, want, row.failed, w)
			}
			if row.failed && (len(got.kept) != 1 || !strings.HasPrefix(keptOf(want), keptOf(got))) {
				t.Errorf("%s: decoded %+v before the error, want a beginning of %+v", row.name, got, want)
			}
			if took < row.outage || w.gap > 16*time.Second && row.pace < time.Minute {
				t.Errorf("%s: took %v with gaps of %v, want %v at least and 15 s", row.name, took, w.gap, row.outage)
			}
			if strings.Contains(w.String(), `"background":true`) {
				t.Errorf("%s: the client is told of the background: %s", row.name, w)
			}
			if method, n := asksOf(g.provider); method != row.last || n != row.posts {
				t.Errorf("%s: %d answers were asked for, and the last request was a %s; want %d and %s", row.name, n, method, row.posts, row.last)
			}
			if shared, waits, memory, disk := g.Left(); shared != 0 || waits != 0 || memory != 0 || disk != 0 {
				t.Errorf("%s: %d shared requests, %d waits, %d and %d bytes are left", row.name, shared, waits, memory, disk)
			}
		})
	}
}

// An answer whose client has left is canceled, whether its content has come or not.
func TestBackground_ClientLeaves(t *testing.T) {
	for _, stays := range []time.Duration{30 * time.Second, 90 * time.Second, 200 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := newBackground(t, simulator.Script{Pace: time.Minute})
			ctx, cancel := context.WithTimeout(t.Context(), stays)
			defer cancel()
			serveUntil(ctx, g.Gateway, "/v1/responses", storedCodex, "")
			synctest.Wait()
			all := g.provider.Requests()
			if last := all[len(all)-1]; len(all) != 2 || last.Method != "POST" || last.Path != "/v1/responses/resp_000001/cancel" {
				t.Errorf("after %v: the provider was asked %d times, the last time %s %s, want that the answer is canceled", stays, len(all), last.Method, last.Path)
			}
		})
	}
}

// A whole answer is not canceled, nor asked for again.
func TestBackground_WholeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newBackground(t, simulator.Script{Pace: time.Second})
		w := serve(g.Gateway, "/v1/responses", storedCodex, "")
		all := g.provider.Requests()
		if got, err := decode("/v1/responses", w.String()); len(all) != 1 || err != nil || got.failed || !strings.Contains(string(all[0].Body), `"background":true`) {
			t.Errorf("%d requests, the first %s; decoded %+v, error %v", len(all), all[0].Body, got, err)
		}
	})
}

// Requests are sent as they are unless the upstream is configured otherwise, and where the client keeps the answer
// itself, reads it whole, or knows of the background.
func TestBackground_LeftAlone(t *testing.T) {
	for body, mode := range map[string]gateway.BackgroundMode{
		storedCodex:                       "",
		`{"store":false,` + codex[1:]:     gateway.BackgroundStored,
		`{"background":true,` + codex[1:]: gateway.BackgroundStored,
		`{"model":"gpt-5","input":"Hi"}`:  gateway.BackgroundStored,
		`{"x":1,` + codex[1:]:             gateway.BackgroundOff,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &completing{provider: simulator.New(simulator.Script{})}
			t.Cleanup(func() { _ = c.provider.Close() })
			upstreams := everything(address("provider.test"))
			for i := range upstreams {
				upstreams[i].Background = mode
			}
			g := newGateway(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: c.provider.Transport()})
			w := serve(g, "/v1/responses", body, "")
			sent := c.provider.Requests()
			if len(sent) != 1 || string(sent[0].Body) != body {
				t.Errorf("%s: sent %d times as %s", body, len(sent), sent[0].Body)
			}
			if want := fmt.Sprintf(`"background":%t`, strings.Contains(body, `"background":true`)); !strings.Contains(w.String(), want) {
				t.Errorf("%s: the client has %s, want %s in it", body, w, want)
			}
		})
	}
}

// A route says for its models whether answers are in the background.
func TestUpstream_BackgroundFor(t *testing.T) {
	u := gateway.Upstream{Routes: []gateway.Route{{Models: []string{"gpt-*"}, Background: gateway.BackgroundStored}}}
	for model, want := range map[string]gateway.BackgroundMode{"gpt-5": gateway.BackgroundStored, "o4": gateway.BackgroundOff} {
		if got := u.BackgroundFor(model); got != want {
			t.Errorf("BackgroundFor(%q) = %q, want %q", model, got, want)
		}
	}
}

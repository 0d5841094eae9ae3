package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// streamed are the requests for a stream of each API whose answers may be completed.
var streamed = []struct{ path, body string }{
	{"/v1/messages", thinks(claude)},
	{vertexClaude + ":streamRawPredict", thinks(claudeOnVertex)},
	{streamPath, thinks(invoke)},
	{"/model/" + url.PathEscape(profile) + "/converse-stream", `{"additionalModelRequestFields":{"thinking":{"type":"enabled"}},` + converse[1:]},
	{"/v1/chat/completions", gpt},
	{"/v1/responses", `{"store":false,"reasoning":{"summary":"auto"},` + codex[1:]},
	{"/v1beta/models/gemini-3:streamGenerateContent?alt=sse", thoughts(gemini)},
	{"/v1beta/models/gemini-3:streamGenerateContent", thoughts(gemini)},
	{"/api/chat", `{"think":true,` + llama[1:]},
	{"/api/v1/chat", studio},
	{"/v2/chat", command},
}

// thinks has a request of Anthropic's ask for reasoning.
func thinks(body string) string {
	return strings.Replace(body, `"max_tokens":64`, `"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024}`, 1)
}

// thoughts has a request of Google's ask for reasoning.
func thoughts(body string) string {
	return `{"generationConfig":{"thinkingConfig":{"includeThoughts":true}},` + body[1:]
}

// record returns what the simulator answers.
func record(t *testing.T, path, body string, words string) (stream, kind string) {
	t.Helper()
	script := simulator.Script{Replies: replies(t, words)}
	provider := simulator.New(script)
	defer provider.Close()
	w := httptest.NewRecorder()
	req := httptest.NewRequest("POST", path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	func() {
		defer func() { _ = recover() }() // a cut answer
		provider.ServeHTTP(w, req)
	}()
	if w.Code != http.StatusOK {
		t.Fatalf("%s answers %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String(), w.Header().Get("Content-Type")
}

// failureOf returns the event with which an answer fails.
func failureOf(t *testing.T, path, body string) string {
	t.Helper()
	cut, _ := record(t, path, body, "cut:1")
	failed, _ := record(t, path, body, "cut:1:error")
	if path == "/api/chat" { // the times in its lines vary in length
		return failed[strings.LastIndex(failed, `{"error"`):]
	}
	return failed[len(cut):]
}

// ending is how a stream breaks off.
type ending int

const (
	fin ending = iota
	rst
	silent
	failing
	endings
)

// broken is a provider whose first answer breaks off, and whose others are whole.
type broken struct {
	kind, first, second, failure string
	how                          ending
	asked                        int
	bodies                       []string
}

// RoundTrip implements http.RoundTripper.
func (p *broken) RoundTrip(req *http.Request) (*http.Response, error) {
	p.asked++
	body, _ := io.ReadAll(req.Body)
	_ = req.Body.Close()
	p.bodies = append(p.bodies, string(body))
	answer := io.Reader(strings.NewReader(p.second))
	if p.asked == 1 {
		answer = io.MultiReader(pieces{strings.NewReader(p.first)}, &lastWords{p, req.Context()})
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {p.kind}}, Body: io.NopCloser(answer), Request: req}, nil
}

// pieces reads a little at a time, as a network does.
type pieces struct{ io.Reader }

// Read implements io.Reader.
func (r pieces) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 199)]) }

// lastWords is the end of a broken answer.
type lastWords struct {
	*broken
	ctx context.Context
}

// Read implements io.Reader.
func (l *lastWords) Read(p []byte) (int, error) {
	switch l.how {
	case rst:
		return 0, syscall.ECONNRESET
	case silent:
		<-l.ctx.Done()
		return 0, context.Cause(l.ctx)
	case failing:
		return copy(p, l.failure), io.EOF
	}
	return 0, io.EOF
}

// received is what a client gets.
type received struct {
	bytes.Buffer
	header http.Header
	cut    bool
	last   time.Time     // when it got something
	gap    time.Duration // the longest without
}

// Write implements io.Writer.
func (r *received) Write(p []byte) (int, error) {
	r.gap, r.last = max(r.gap, time.Since(r.last)), time.Now()
	return r.Buffer.Write(p)
}

// Header implements http.ResponseWriter.
func (r *received) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *received) WriteHeader(int) {}

// Flush implements http.Flusher.
func (r *received) Flush() {}

// serve sends a request straight to a gateway.
func serve(g *gateway.Gateway, path, body, agent string) (w *received) {
	return serveUntil(context.Background(), g, path, body, agent)
}

// serveUntil sends a request of a client that stays until its context ends.
func serveUntil(ctx context.Context, g *gateway.Gateway, path, body, agent string) (w *received) {
	w = &received{header: http.Header{}, last: time.Now()}
	req := httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(body))
	req.Header.Set("User-Agent", agent)
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	w.cut = true
	g.ServeHTTP(w, req)
	w.cut = false
	return w
}

// brokenAt returns a recorded stream's whole frames before a position, and whether that is between two.
func brokenAt(path, stream string, n int) (whole string, between bool) {
	form := api.Events
	switch {
	case strings.HasPrefix(path, "/model/"):
		form = api.AWSEvents
	case strings.HasPrefix(path, "/api/chat"):
		form = api.Lines
	case strings.HasSuffix(path, "Content"):
		form = api.Array
	}
	at := 0
	for {
		size := form.FrameLen([]byte(stream[at:n]), 0)
		if size <= 0 {
			return stream[:at], at == n && n > 0
		}
		at += size
	}
}

// verdict says what is to happen to an answer that breaks off: nothing that its client keeps has been sent, and
// reasoning that has been sent is whole or not signed.
func verdict(path, agent string, prefix, all decoded) (again, either bool) {
	if len(prefix.kept) > 0 && prefix.kept[0] != "text " && strings.HasPrefix(prefix.kept[0], "text ") {
		return false, false
	}
	signs := strings.Contains(path, "/v1/messages") || strings.Contains(path, "RawPredict") || strings.HasPrefix(path, "/model/")
	if n := len(prefix.reasoning); signs && n > 0 && prefix.reasoning[n-1] != "" && !strings.HasPrefix(agent, "ai-sdk/") {
		return false, strings.Contains(prefix.reasoning[n-1], " signed ") || len(prefix.kept) > 0 || prefix.reasoning[n-1] == all.reasoning[n-1]
	}
	return true, false
}

// breaks are what is recorded of each API: what breaks off, and what the provider answers then. Each word is
// another, so that nothing of one can be taken for the other.
var breaks = []struct{ name, first, second string }{
	{"text", `say:"Hello there."`, `say:"Good day."`},
	{"reasoning and text", `think:"Let me see."+say:"Hello there."`, `think:"Once more."+say:"Good day."`},
	{"reasoning and a call", `think:"Let me see."+call:list{"path":"a b"}`, `think:"Once more."+call:read{"file":"main.go"}`},
	{"calls", `call:list{"path":"a b"}+call:now`, `say:"Good "+call:read{"file":"main.go"}+call:now`},
	{"hidden reasoning and a call", `think:"Let me see."+hidden+call:list{"path":"a b"}`, `think:"Once more."+hidden+say:"Good day."`},
}

// everyByte is set where answers are to break off at every byte, which takes minutes, and not at each sixteenth one
// and between frames only.
const everyByte = "RIDETHROUGH_EVERY_BYTE"

// What a client decodes of an answer that breaks off is one whole answer, or a part of the first and an error:
// wherever it breaks off, and in whatever way.
func TestComplete_BreakAnywhere(t *testing.T) {
	for _, agent := range []string{"", "ai-sdk/anthropic/3.0"} {
		for i, api := range streamed {
			if i >= 4 && agent != "" {
				break // it matters where reasoning is signed
			}
			for _, answer := range breaks {
				t.Run(agent+api.path+" "+answer.name, func(t *testing.T) {
					t.Parallel()
					checkEveryByte(t, api.path, api.body, agent, answer.first, answer.second)
				})
			}
		}
	}
}

// checkEveryByte breaks one answer off at each of its bytes.
func checkEveryByte(t *testing.T, path, body, agent, words, others string) {
	first, kind := record(t, path, body, words)
	second, _ := record(t, path, body, others)
	failure := failureOf(t, path, body)
	all, err1 := decode(path, first)
	want, err2 := decode(path, second)
	if err1 != nil || err2 != nil || all.failed || want.failed {
		t.Fatalf("the recorded streams: %v, %v, %+v, %+v", err1, err2, all, want)
	}
	every := 16
	if os.Getenv(everyByte) != "" {
		every = 1
	}
	if raced {
		every = 160
	}
	synctest.Test(t, func(t *testing.T) {
		p := &broken{kind: kind, second: second, failure: failure}
		upstreams := everything(address("provider.test"))
		for i := range upstreams {
			upstreams[i].Limits = &gateway.Limits{Idle: time.Minute}
		}
		g := newGateway(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: p})
		again := 0
		for n := 1; n < len(first); n++ {
			whole, between := brokenAt(path, first, n)
			if (!between || raced) && n%every != 0 && n < len(first)-4 {
				continue
			}
			prefix, _ := decode(path, whole)
			for how := range endings {
				if how == failing && (!between || strings.HasSuffix(path, "Content")) {
					continue
				}
				p.first, p.how, p.asked = first[:n], how, 0
				w := serve(g, path, body, agent)
				got, err := decode(path, w.String())
				problem := compareBroken(p.asked, got, prefix, all, want, err)
				if expected, either := verdict(path, agent, prefix, all); prefix.stop == "" && !either && expected != (p.asked == 2) && (got.failed || p.asked == 2) {
					problem += fmt.Sprintf(", want it asked again: %v", expected)
				}
				if problem != "" {
					t.Fatalf("broken at byte %d of %d, ending %d, asked %d times: %s\nsent %q\ngot  %q", n, len(first), how, p.asked, problem, first[:n], w)
				}
				again += p.asked - 1
			}
		}
		synctest.Wait()
		if shared, waits, memory, _ := g.Left(); shared != 0 || waits != 0 || memory != 0 || again == 0 {
			t.Errorf("%d shared requests, %d waits and %d bytes are left; %d answers were asked for again", shared, waits, memory, again)
		}
	})
}

// compareBroken compares what a client has with what the provider has sent. "": it is as it must be.
func compareBroken(asked int, got, prefix, all, want decoded, err error) string {
	kept, whole := strings.Join(got.kept, "\n"), strings.Join(all.kept, "\n")
	switch {
	case err != nil:
		return err.Error()
	case asked > 2:
		return "asked too often"
	case asked == 2 && (got.failed || !slices.Equal(got.kept, want.kept) || got.stop != want.stop):
		return fmt.Sprintf("decoded %+v, want %+v", got, want)
	case asked == 1 && got.failed && !strings.HasPrefix(whole, kept):
		return fmt.Sprintf("decoded %q before the error, want a beginning of %q", kept, whole)
	case asked == 1 && !got.failed && kept != whole:
		return fmt.Sprintf("decoded %q as a whole answer, want %q", kept, whole)
	case asked == 1 && got.failed && len(prefix.kept) > 0 && strings.HasPrefix(prefix.kept[0], "text ") && !strings.HasPrefix(kept, strings.Join(prefix.kept[:1], "")):
		return fmt.Sprintf("decoded %q before the error, want no less than %q", kept, prefix.kept[0])
	}
	return ""
}

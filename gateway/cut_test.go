package gateway_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/cork"
	"github.com/ridethrough/ridethrough/internal/exchange"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// The clients of some APIs take an error event in a stream for a part of the answer, from the provider or the gateway.
func TestGateway_CutsBehindTheProvidersError(t *testing.T) {
	for _, api := range apis {
		for _, complete := range []gateway.CompleteMode{gateway.CompleteLossless, gateway.CompleteText, gateway.CompleteOff} {
			synctest.Test(t, func(t *testing.T) {
				provider := simulator.New(simulator.Script{Then: replies(t, "cut:3:error")[0]})
				defer provider.Close()
				upstreams := everything(address("provider.test"))
				for i := range upstreams {
					upstreams[i].Complete = complete
				}
				w := newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Policy{Retries: 1}, Base: provider.Transport()})
				_, text, err := w.get(api.path, api.body)
				if !strings.Contains(text, "error") || len(api.end) > 1 && strings.Contains(text, api.end) || errors.Is(err, io.ErrUnexpectedEOF) != api.cuts {
					t.Errorf("%s, %s: got %q, error %v, want the provider's error, and a cut: %v", api.path, complete, text, err, api.cuts)
				}
			})
		}
	}
}

// An answer that has its error before any content, and is given up, is cut for those whose SDK sees no error in it. An
// agent that would send the request again after a cut reads the error's words.
func TestGateway_CutsBehindTheLastError(t *testing.T) {
	for _, tt := range []struct {
		path, agent string
		cut         bool
	}{
		{messages, plainSDK, false},
		{chat, plainSDK, true},
		{chat, vercel7, true},
		{chat, opencode, false},
		{google, plainSDK, true},
		{"/v2/chat", plainSDK, true},
		{"/api/chat", plainSDK, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Policy{Retries: 1}, simulator.Script{Then: replies(t, "cut:0:error")[0]})
			resp, text, err := w.get(tt.path, bodyOf(tt.path), "User-Agent", tt.agent)
			if !strings.Contains(text, "error") || resp.StatusCode == 200 && (err != nil) != tt.cut {
				t.Errorf("%s, %s: got %d %q, error %v, want an error, and a cut: %v", tt.path, tt.agent, resp.StatusCode, text, err, tt.cut)
			}
		})
	}
}

// Proxies lose an event that the cut comes with.
func TestGateway_PausesBeforeACutBehindAProxy(t *testing.T) {
	for _, tt := range []struct {
		name, header, value string
		want                time.Duration
	}{
		{"no proxy", "Accept", "*/*", 0},
		{"Varnish, nghttpx or Traffic Server", "Via", "1.1 cache (Varnish/7.7)", 300 * time.Millisecond},
		{"Apache", "X-Forwarded-For", "10.0.0.1", 300 * time.Millisecond},
	} {
		for _, cut := range []string{"cut:3", "cut:3:error"} {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, policy.Policy{Retries: 1}, simulator.Script{Replies: replies(t, cut)})
				_, text, err := w.get(chat, gpt, tt.header, tt.value)
				if took := time.Since(w.begun); took != tt.want || !strings.Contains(text, `"error"`) || err == nil {
					t.Errorf("%s, %s: got %q, error %v after %v; want an error and a cut after %v", tt.name, cut, text, err, took, tt.want)
				}
			})
		}
	}
}

// serveAs serves a gateway as package server does, and returns its address.
func serveAs(t *testing.T, g http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	s := &http.Server{Handler: g, ConnContext: cork.Context}
	done := make(chan struct{})
	go func() { _ = s.Serve(exchange.Listener{Listener: cork.Listener{Listener: l}}); close(done) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return l.Addr().String()
}

// An answer over HTTP/1.0 has no chunks: to its reader, such as nginx at its defaults, a closed connection is its end.
func TestGateway_ResetsAnswersOfHTTP10(t *testing.T) {
	half := messageStart + messageHi
	for _, tt := range []struct {
		name, path, body string
		base             roundTrip
		want             string // is in what is read
		reset            bool
	}{
		{"the provider's error", chat, gpt, says(200, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"error\":{\"message\":\"Overloaded\"}}\n\n"), "Overloaded", true},
		{"a stream that breaks off", chat, gpt, says(200, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"), "broke off", true},
		{"another path", "/v1/files/f/content", "", roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(io.MultiReader(strings.NewReader("half"), failedReader{}))}, nil
		}), "half", true},
		{"an error that all see", messages, claude, says(200, half), "broke off", false},
		{"a whole answer", messages, claude, says(200, half+messageStop), "message_stop", false},
	} {
		g := newGateway(t, gateway.Config{Upstreams: everything(address("provider.test")), Policy: policy.Policy{Retries: 1}, Base: tt.base})
		c, err := net.Dial("tcp", serveAs(t, g))
		if err != nil {
			t.Fatalf("Dial: %v", err)
		}
		method := map[bool]string{true: "GET", false: "POST"}[tt.body == ""]
		_, _ = fmt.Fprintf(c, "%s %s HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, tt.path, len(tt.body), tt.body)
		text, err := io.ReadAll(c)
		_ = c.Close()
		if !strings.Contains(string(text), tt.want) || errors.Is(err, syscall.ECONNRESET) != tt.reset || !tt.reset && err != nil {
			t.Errorf("%s: got %q, error %v; want %q, and a reset: %v", tt.name, text, err, tt.want, tt.reset)
		}
	}
}

// AWS's SDK for JavaScript takes any other end of a stream of HTTP/2 for a proper one.
func TestGateway_CutOfHTTP2IsAnInternalError(t *testing.T) {
	s := listen(t, gateway.Config{
		Upstreams: everything(address("provider.test")), Policy: policy.Policy{Retries: 1},
		Base: says(200, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"),
	})
	s.StartTLS()
	resp, err := s.Client().Post(s.URL+chat, "application/json", strings.NewReader(gpt))
	if err != nil {
		t.Fatalf("Post: %v", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.ProtoMajor != 2 || !strings.Contains(string(text), "broke off") || !strings.Contains(fmt.Sprint(err), "INTERNAL_ERROR") {
		t.Errorf("%s: got %q, error %v; want HTTP/2, an error event, and INTERNAL_ERROR", resp.Proto, text, err)
	}
}

// After the keepalives of a whole answer its status is out: there is no error that every client sees but a cut.
func TestGateway_WholeAnswerGivenUpAfterTheCommitIsCut(t *testing.T) {
	for _, api := range apis {
		synctest.Test(t, func(t *testing.T) {
			p := policy.Policy{Retries: 3, Backoff: policy.Backoff{Steps: []time.Duration{20 * time.Second}}}
			w := newHarness(t, p, simulator.Script{Then: replies(t, "cut:1")[0]})
			resp, text, err := w.get(cmp.Or(api.wholePath, api.path), api.wholeBody)
			if resp.StatusCode != 200 || strings.TrimSpace(text) != "" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: got %d %q, error %v; want 200, blanks and a cut", api.path, resp.StatusCode, text, err)
			}
		})
	}
}

// Bedrock's streams end in an exception, whatever ends them.
func TestGateway_BedrockStreamsEndInAnException(t *testing.T) {
	for _, reply := range []string{"cut:3", "cut:3:clean", "cut:3:error", "cut:0"} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Policy{Retries: 3, Backoff: policy.Backoff{Steps: []time.Duration{20 * time.Second}}}, simulator.Script{Then: replies(t, reply)[0]})
			resp, text, err := w.get("/model/m/converse-stream", converse)
			if resp.StatusCode != 200 || err != nil || readBedrock(t, text).exception() == "" {
				t.Errorf("%s: got %d %q, error %v; want an exception at the end", reply, resp.StatusCode, text, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "drip:1h")})
		time.AfterFunc(90*time.Minute, func() { w.gateway.Drain(); w.gateway.Close() })
		_, text, err := w.get("/model/m/converse-stream", converse)
		if err != nil || readBedrock(t, text).exception() == "" {
			t.Errorf("closed: got %q, error %v; want an exception at the end", text, err)
		}
	})
}

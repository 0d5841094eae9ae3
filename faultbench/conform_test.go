package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	main "github.com/ridethrough/ridethrough/faultbench"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// serve serves a handler until the test ends, and returns a transport to it.
func serve(t *testing.T, h http.Handler) *http.Transport {
	pipe := simulator.NewPipe()
	server := &http.Server{Handler: h}
	go server.Serve(pipe)
	transport := &http.Transport{DialContext: pipe.DialContext, DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return transport
}

// newProxy returns a plain proxy to the provider. It reads a request whole: over a pipe, the server may close a body
// before the transport has seen its end.
func newProxy(provider *simulator.Pipe) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "provider"})
			body, err := io.ReadAll(r.In.Body)
			if r.Out.Body = io.NopCloser(bytes.NewReader(body)); err != nil {
				r.Out.Body = io.NopCloser(failing{err})
			}
		},
		Transport:     &http.Transport{DialContext: provider.DialContext, DisableCompression: true},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
}

// results checks a gateway that is made of a proxy, and returns the results by check.
func results(t *testing.T, gateway func(*httputil.ReverseProxy) http.Handler) (byCheck map[string]main.Result) {
	byCheck = map[string]main.Result{}
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.NewPipe()
		transport := serve(t, gateway(newProxy(provider)))
		for r := range main.Run(t.Context(), "http://gateway", main.Options{Provider: provider, Transport: transport}) {
			byCheck[r.Check] = r
		}
		time.Sleep(2 * time.Minute) // what was left open ends
	})
	return byCheck
}

// failing is a body that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func plain(p *httputil.ReverseProxy) http.Handler { return p }

func TestRun_PlainProxyPasses(t *testing.T) {
	for _, r := range results(t, plain) {
		if r.Status != main.OK {
			t.Errorf("a plain proxy at %s (%s): got %s because %s, want ok", r.Check, r.About, r.Status, r.Reason)
		}
	}
}

// request changes what goes to the provider.
func request(change func(*http.Request)) func(*httputil.ReverseProxy) http.Handler {
	return func(p *httputil.ReverseProxy) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			p.ServeHTTP(w, r)
		})
	}
}

// requestBody changes the body that goes to the provider.
func requestBody(change func(body []byte) []byte) func(*httputil.ReverseProxy) http.Handler {
	return request(func(r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		body = change(body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	})
}

// response changes what comes back.
func response(change func(*http.Response)) func(*httputil.ReverseProxy) http.Handler {
	return func(p *httputil.ReverseProxy) http.Handler {
		p.ModifyResponse = func(r *http.Response) error { change(r); return nil }
		return p
	}
}

// eventsOf changes the events of a stream, one by one.
func eventsOf(change func(event string) string) func(*httputil.ReverseProxy) http.Handler {
	return response(func(r *http.Response) {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			return
		}
		from := r.Body
		in, out := io.Pipe()
		r.Body = readCloser{in, func() { in.Close(); from.Close() }}
		go func() {
			buf, text := make([]byte, 4096), ""
			for {
				n, err := from.Read(buf)
				text += string(buf[:n])
				for {
					event, rest, ok := strings.Cut(text, "\n\n")
					if !ok {
						break
					}
					text = rest
					io.WriteString(out, change(event+"\n\n"))
				}
				if err != nil {
					out.CloseWithError(err)
					return
				}
			}
		}()
	})
}

// readCloser is a reader with another end.
type readCloser struct {
	io.Reader
	end func()
}

func (r readCloser) Close() error { r.end(); return nil }

// path answers a path itself.
func path(method, at string, h http.HandlerFunc) func(*httputil.ReverseProxy) http.Handler {
	return func(p *httputil.ReverseProxy) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == method && r.URL.Path == at {
				h(w, r)
				return
			}
			p.ServeHTTP(w, r)
		})
	}
}

// without returns a change that removes the headers of a prefix.
func without(prefix string, except ...string) func(http.Header) {
	return func(h http.Header) {
		for name := range h {
			if strings.HasPrefix(name, prefix) && !slices.Contains(except, name) {
				h.Del(name)
			}
		}
	}
}

// wrapErrors puts errors into an envelope, as gateways do that know several providers.
func wrapErrors(r *http.Response) {
	if r.StatusCode < 400 {
		return
	}
	body, _ := io.ReadAll(r.Body)
	text, _ := json.Marshal(map[string]any{"error": map[string]any{"message": string(body), "code": strconv.Itoa(r.StatusCode)}})
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
}

// throughFloats decodes and encodes a body, which changes large numbers.
func throughFloats(body []byte) []byte {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	body, _ = json.Marshal(v)
	return body
}

// withoutField removes a member of a body.
func withoutField(name string) func([]byte) []byte {
	return func(body []byte) []byte {
		var v map[string]json.RawMessage
		if json.Unmarshal(body, &v) != nil {
			return body
		}
		delete(v, name)
		body, _ = json.Marshal(v)
		return body
	}
}

// joinSystem makes one text of the system prompt.
func joinSystem(body []byte) []byte {
	var v map[string]any
	if json.Unmarshal(body, &v) != nil || v["system"] == nil {
		return body
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	d.Decode(&v)
	v["system"] = "You check a gateway."
	body, _ = json.Marshal(v)
	return body
}

// buffering hands an answer on when it is complete.
func buffering(r *http.Response) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
}

// cleanEnd ends an answer that breaks off as if it were whole.
func cleanEnd(r *http.Response) {
	from := r.Body
	r.Body = readCloser{forgiving{from}, func() { from.Close() }}
}

type forgiving struct{ io.Reader }

func (f forgiving) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// detached continues a request whose client has left.
func detached(p *httputil.ReverseProxy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
		defer cancel()
		p.ServeHTTP(w, r.WithContext(ctx))
	})
}

func pass(event string) string { return event }

// dropping drops events with a text.
func dropping(text string) func(string) string {
	return func(event string) string {
		if strings.Contains(event, text) {
			return ""
		}
		return event
	}
}

// brokenGateways are proxies with one fault each, and the checks that fail.
var brokenGateways = []struct {
	name    string
	gateway func(*httputil.ReverseProxy) http.Handler
	fails   string
}{
	{"sound", eventsOf(pass), ""},
	{"HEAD is an error", path("HEAD", "/", status(500)), "head"},
	{"HEAD is slow", path("HEAD", "/", slow), "head"},
	{"models redirect", path("GET", "/v1/models", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v1/models/", http.StatusPermanentRedirect)
	}), "models"},
	{"models are slow", path("GET", "/v1/models", slow), "models"},
	{"no models", path("GET", "/v1/models", status(404)), "models"},
	{"a page for models", path("GET", "/v1/models", status(200)), "models"},
	{"credentials are lost", request(func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Del("X-Api-Key") }), "credentials"},
	{"only keys", request(func(r *http.Request) { r.Header.Del("Authorization") }), "credentials"},
	{"known betas only", request(func(r *http.Request) { r.Header.Set("Anthropic-Beta", "claude-code-20250219") }), "beta-headers"},
	{"its own version", request(func(r *http.Request) { r.Header.Set("Anthropic-Version", "2024-01-01") }), "beta-headers"},
	{"known headers only", request(func(r *http.Request) { without("Anthropic-", "Anthropic-Beta", "Anthropic-Version")(r.Header) }), "anthropic-headers"},
	{"no sessions", request(func(r *http.Request) { without("X-Claude-Code-")(r.Header) }), "session-headers"},
	{"numbers as floats", requestBody(throughFloats), "body"},
	{"known fields only", requestBody(withoutField("conform_later")), "body"},
	{"system as one text", requestBody(joinSystem), "body"},
	{"small bodies", request(func(r *http.Request) { r.Body = http.MaxBytesReader(nil, r.Body, 1<<20) }), "large-body"},
	{"answers encoded anew", response(encodeAnew), "answer"},
	{"stream of another type", response(retype), "stream, unknown-events"},
	{"events lost", eventsOf(dropping(" there.")), "stream"},
	{"known events only", eventsOf(dropping("conform_later")), "unknown-events"},
	{"known blocks only", eventsOf(dropping("conform_block")), "unknown-events"},
	{"buffering", response(buffering), "unbuffered, pings, first-byte, broken-stream"},
	{"pings dropped", eventsOf(dropping("event: ping")), "pings"},
	{"errors in streams dropped", eventsOf(dropping("event: error")), "error-event"},
	{"broken streams end", response(cleanEnd), "broken-stream"},
	{"errors wrapped", response(wrapErrors), "errors, overload"},
	{"another status for errors", response(func(r *http.Response) {
		if r.StatusCode == 413 {
			r.StatusCode = 400
		}
	}), "errors"},
	{"another status for overloads", response(func(r *http.Response) {
		if r.StatusCode == 529 {
			r.StatusCode = 503
		}
	}), "overload"},
	{"no hint", response(func(r *http.Response) { r.Header.Del("Retry-After") }), "overload"},
	{"no request id", response(func(r *http.Response) { r.Header.Del("Request-Id") }), "response-headers"},
	{"no limits", response(func(r *http.Response) { without("Anthropic-Ratelimit-")(r.Header) }), "response-headers"},
	{"coding not named", response(func(r *http.Response) { r.Header.Del("Content-Encoding") }), "compression"},
	{"coding not asked for", response(packed), "answer, compression"},
	{"counting is an error", path("POST", "/v1/messages/count_tokens", status(500)), "count-tokens"},
	{"no counting", path("POST", "/v1/messages/count_tokens", status(404)), ""},
	{"clients cannot leave", detached, "cancel"},
	{"not the provider", path("POST", "/v1/messages", status(200)), "reachable"},
	{"answers empty", response(func(r *http.Response) { r.Body, r.ContentLength = http.NoBody, 0; r.Header.Set("Content-Length", "0") }), "reachable, models"},
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", code) }
}

// slow answers after 4 s.
func slow(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(4 * time.Second):
	case <-r.Context().Done():
	}
}

// encodeAnew writes a whole answer in other spaces.
func encodeAnew(r *http.Response) {
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" {
		return
	}
	body, _ := io.ReadAll(r.Body)
	if bytes.HasPrefix(body, []byte(`{"id": `)) {
		body = throughFloats(body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// retype calls a stream a text.
func retype(r *http.Response) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		r.Header.Set("Content-Type", "text/plain")
	}
}

// packed compresses an answer for clients that have not asked for it.
func packed(r *http.Response) {
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" || r.Request.URL.Path != "/v1/messages" {
		return
	}
	body, _ := io.ReadAll(r.Body)
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(body)
	z.Close()
	r.Body, r.ContentLength = io.NopCloser(&out), int64(out.Len())
	r.Header.Set("Content-Length", strconv.Itoa(out.Len()))
	r.Header.Set("Content-Encoding", "gzip")
}

func TestRun_BrokenGatewayFailsItsChecks(t *testing.T) {
	caught := map[string]bool{}
	for _, tt := range brokenGateways {
		t.Run(tt.name, func(t *testing.T) {
			byCheck := results(t, tt.gateway)
			var fails []string
			for _, name := range main.Names() {
				r := byCheck[name]
				if r.Status != main.Fails {
					continue
				}
				fails = append(fails, name)
				caught[name] = true
				if r.Reason == "" || r.Client == "" {
					t.Errorf("the failed check %s: got reason %q and client %q, want both", name, r.Reason, r.Client)
				}
			}
			if diff := cmp.Diff(tt.fails, strings.Join(fails, ", ")); diff != "" {
				t.Errorf("checks that a gateway with %q fails (-want +got):\n%s\n%v", tt.name, diff, byCheck)
			}
		})
	}
	for _, name := range main.Names() {
		if !caught[name] {
			t.Errorf("check %s: no gateway of the test fails it, want one", name)
		}
	}
}

package server_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
)

const ownOrigin, appOrigin, listedOrigin = "http://127.0.0.1:8484", "app://obsidian.md", "http://localhost:5173"

// guarded returns a server that permits the pages of one origin.
func guarded(g server.Gateway, log io.Writer) *server.Server {
	return server.New(server.Config{Log: slog.New(slog.NewTextHandler(log, nil)), Gateway: g, Origins: []string{listedOrigin}, Page: files()})
}

func TestServer_AdmitsProgramsAndPermittedPages(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		api     int // at an API
		ours    int // below /-/
	}{
		{"a program", nil, 200, 200},
		{"Node's fetch", []string{"Sec-Fetch-Mode", "cors"}, 200, 200},
		{"Electron's main process", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "empty"}, 200, 200},
		{"the server's page", []string{"Origin", ownOrigin, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "empty"}, 200, 200},
		{"its page in a GET", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "empty"}, 200, 200},
		{"its page behind a proxy", []string{"Origin", "https://gate.example", "Sec-Fetch-Site", "same-origin"}, 200, 200},
		{"its page without Sec-Fetch", []string{"Origin", ownOrigin}, 200, 200},
		{"a WebSocket of its page", []string{"Origin", ownOrigin, "Sec-Fetch-Dest", "websocket"}, 200, 200},
		{"a listed page", []string{"Origin", listedOrigin, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Dest", "empty"}, 200, 200},
		{"a listed page without Sec-Fetch", []string{"Origin", listedOrigin}, 200, 200},
		{"an app", []string{"Origin", appOrigin, "Sec-Fetch-Site", "cross-site"}, 200, 403},
		{"a webview", []string{"Origin", "vscode-webview://0a1b"}, 200, 403},
		{"a file", []string{"Origin", "file://"}, 403, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "same-site"}, 403, 403},
		{"another port without Sec-Fetch", []string{"Origin", "http://127.0.0.1:3000"}, 403, 403},
		{"another name of this machine", []string{"Origin", "http://localhost:8484"}, 403, 403},
		{"a listed page's other port", []string{"Origin", listedOrigin + "0"}, 403, 403},
		{"an image on another port", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403, 403},
		{"a link elsewhere", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403, 403},
		{"another site", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, 403},
		{"a hidden origin", []string{"Origin", "null"}, 403, 403},
		{"an empty origin", []string{"Origin", ""}, 403, 403},
		{"two origins", []string{"Origin", listedOrigin, "Origin", ownOrigin}, 403, 403},
		{"an invalid origin", []string{"Origin", "http://["}, 403, 403},
		{"a scheme in capitals", []string{"Origin", "HTTPS://evil.example"}, 403, 403},
		{"a browser's extension", []string{"Origin", "chrome-extension://abc"}, 403, 403},
	}
	for _, tt := range tests {
		s := guarded(&fake{}, io.Discard)
		for _, method := range []string{"GET", "POST", "HEAD"} {
			if w := ask(s, request(method, "/v1/messages", "", tt.headers...)); w.Code != tt.api {
				t.Errorf("%s, %s at an API: %d, want %d", tt.name, method, w.Code, tt.api)
			}
		}
		if w := ask(s, request("GET", "/-/waits", "", tt.headers...)); w.Code != tt.ours {
			t.Errorf("%s, GET below /-/: %d, want %d", tt.name, w.Code, tt.ours)
		}
		post := append(slices.Clone(tt.headers), "Content-Type", "application/json")
		if w := ask(s, request("POST", "/-/waits/17", `{"do":"now"}`, post...)); w.Code != tt.ours {
			t.Errorf("%s, POST below /-/: %d, want %d", tt.name, w.Code, tt.ours)
		}
	}
}

func TestServer_TLSPageIsNotOwnWithoutIt(t *testing.T) {
	for origin, want := range map[string]int{"https://127.0.0.1:8484": 200, ownOrigin: 403} {
		r := httptest.NewRequest("POST", "https://127.0.0.1:8484/v1/messages", strings.NewReader("{}")) // has a TLS state
		r.Header.Set("Origin", origin)
		if w := ask(guarded(&fake{}, io.Discard), r); w.Code != want {
			t.Errorf("Origin %s over TLS: %d, want %d", origin, w.Code, want)
		}
	}
}

func TestServer_OpensNothingInBrowserButPage(t *testing.T) {
	s := guarded(&fake{}, io.Discard)
	for _, dest := range []string{
		"document", "iframe", "frame", "embed", "object", "script", "worker", "sharedworker", "serviceworker", "audioworklet", "style",
		"image", "font", "manifest", "xslt", "json", "report", "track", "video", "whatever-comes",
	} {
		for path, want := range map[string]int{"/v1/models": 403, "/evil/page.html": 403, "/-/waits": 403, "/-/conversations": 403, "/-/livez": 403, "/-/ui/": 200, "/-/ui/app.js": 200} {
			for _, site := range []string{"none", "same-origin"} {
				if w := ask(s, request("GET", path, "", "Sec-Fetch-Dest", dest, "Sec-Fetch-Site", site)); w.Code != want {
					t.Errorf("%s as %s: %d, want %d", path, dest, w.Code, want)
				}
			}
		}
	}
	if w := ask(s, request("GET", "/evil/sw.js", "", "Service-Worker", "script")); w.Code != 403 {
		t.Errorf("a service worker without Sec-Fetch: %d, want 403", w.Code)
	}
	w := ask(s, request("GET", "/v1/models", "", "Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "none"))
	if !strings.Contains(w.Body.String(), "the page at /-/ui/") {
		t.Errorf("the refusal does not name the page: %s", w.Body)
	}
}

func TestServer_AnswersPreflightItself(t *testing.T) {
	ask204 := func(path, origin string, more ...string) *httptest.ResponseRecorder {
		asked := false
		s := server.New(server.Config{
			Log: slog.New(slog.DiscardHandler), Origins: []string{listedOrigin}, Token: "t",
			Gateway: &fake{serve: func(http.ResponseWriter, *http.Request) { asked = true }},
		})
		w := ask(s, request("OPTIONS", path, "", append([]string{
			"Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,x-stainless-os",
		}, more...)...))
		if asked {
			t.Errorf("preflight of %s for %s reaches the gateway", origin, path)
		}
		return w
	}
	for _, path := range []string{"/v1/chat/completions", "/-/conversations"} {
		w := ask204(path, listedOrigin)
		got := map[string]string{}
		for name, values := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
				got[name] = strings.Join(values, ", ")
			}
		}
		want := map[string]string{
			"Access-Control-Allow-Origin":   listedOrigin,
			"Access-Control-Allow-Methods":  "GET, HEAD, POST, PUT, PATCH, DELETE",
			"Access-Control-Allow-Headers":  "authorization,x-stainless-os",
			"Access-Control-Expose-Headers": "*",
			"Access-Control-Max-Age":        "600",
			"Vary":                          "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
		}
		if diff := cmp.Diff(want, got); diff != "" || w.Code != 204 {
			t.Errorf("preflight for %s: %d (-want +got):\n%s", path, w.Code, diff)
		}
	}
	if w := ask204("/v1/messages", listedOrigin, "Access-Control-Request-Private-Network", "true"); w.Header().Get("Access-Control-Allow-Private-Network") != "true" {
		t.Errorf("from a public site: %v", w.Header())
	}
	if w := ask204("/v1/messages", appOrigin); w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != appOrigin {
		t.Errorf("of an app: %d %v", w.Code, w.Header())
	}
	for _, origin := range []string{"http://127.0.0.1:3000", "https://evil.example", "null"} {
		if w := ask204("/v1/messages", origin); w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("of %s: %d %v", origin, w.Code, w.Header())
		}
	}
}

func TestServer_ListedPageReadsErrorsToo(t *testing.T) {
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Origins: []string{listedOrigin}, Token: "t"})
	for _, path := range []string{"/v1/messages", "/-/waits"} {
		w := ask(s, request("GET", path, "", "Origin", listedOrigin))
		if h := w.Header(); w.Code != 401 || h.Get("Access-Control-Allow-Origin") != listedOrigin || h.Get("Vary") != "Origin" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s without the token: %d %v", path, w.Code, h)
		}
	}
	if h := ask(s, request("GET", "/-/waits", "", "X-Ridethrough-Token", "t")).Header(); h.Get("Access-Control-Allow-Origin")+h.Get("Vary") != "" {
		t.Errorf("a program gets CORS headers: %v", h)
	}
}

func TestServer_LogsRefusedPagesOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := guarded(&fake{}, &log)
		for range 50 {
			w := ask(s, request("POST", "/v1/messages", "{}", "Origin", "http://localhost:3000"))
			if !strings.Contains(w.Body.String(), "add http://localhost:3000 to origins in the configuration") {
				t.Fatalf("the refusal does not say how to permit it: %s", w.Body)
			}
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `msg="request of a web page refused" origin=http://localhost:3000`) {
			t.Errorf("logged %s", text)
		}
	})
}

// hostile answers with every header by which it could rule the gateway's origin.
func hostile(kind, body string) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {kind}, "X-Request-Id": {"r-1"}, "Vary": {"Accept-Encoding"}}
		for _, name := range rulers {
			h[http.CanonicalHeaderKey(name)] = []string{"evil"}
		}
		h["Connection"] = []string{"Content-Security-Policy, X-Content-Type-Options, Access-Control-Allow-Origin"}
		return &http.Response{StatusCode: 200, Status: "200 OK", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// rulers are the headers that must not come from an upstream.
var rulers = []string{
	"Set-Cookie", "Set-Cookie2", "Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Refresh", "Alt-Svc", "Report-To",
	"Reporting-Endpoints", "NEL", "Public-Key-Pins", "Public-Key-Pins-Report-Only", "SourceMap", "X-SourceMap", "Link", "Content-Security-Policy",
	"Content-Security-Policy-Report-Only", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Permissions-Policy", "Origin-Trial",
	"Accept-CH", "Critical-CH", "Speculation-Rules", "Use-As-Dictionary", "Timing-Allow-Origin", "Access-Control-Allow-Origin",
	"Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy",
	"Cross-Origin-Resource-Policy", "Attribution-Reporting-Register-Source", "Origin-Agent-Cluster", "Set-Login", "Expect-CT",
}

func TestServer_UpstreamRulesNoOrigin(t *testing.T) {
	tests := []struct{ name, method, path, kind, body string }{
		{"a page", "GET", "/anthropic/evil.html", "text/html", "<script>evil()</script>"},
		{"another endpoint", "POST", "/v1/files", "application/json", "{}"},
		{"an answer", "POST", "/v1/messages", "application/json", `{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`},
		{"a stream", "POST", "/v1/chat/completions", "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			g, err := gateway.New(gateway.Config{Base: hostile(tt.kind, tt.body)})
			if err != nil {
				t.Fatalf("new gateway: %v", err)
			}
			defer g.Close()
			for _, origin := range []string{"", listedOrigin} {
				body := ""
				if tt.method == "POST" {
					body = `{"model":"m","messages":[],"stream":` + map[bool]string{true: "true", false: "false"}[tt.kind == "text/event-stream"] + `}`
				}
				r := request(tt.method, tt.path, body)
				vary := "Accept-Encoding"
				if origin != "" {
					r.Header.Set("Origin", origin)
					vary = "Origin, Accept-Encoding"
				}
				w := ask(guarded(g, io.Discard), r)
				h := w.Header()
				if w.Code != 200 || !strings.HasPrefix(w.Body.String(), tt.body) || h.Get("X-Request-Id") != "r-1" || strings.Join(h["Vary"], ", ") != vary {
					t.Errorf("%s for %q: %d %q, Vary %q", tt.name, origin, w.Code, w.Body, h["Vary"])
				}
				if h.Get("Access-Control-Allow-Origin") != origin {
					t.Errorf("%s for %q: may be read by %q", tt.name, origin, h["Access-Control-Allow-Origin"])
				}
				for name, values := range h {
					if slices.Contains(values, "evil") {
						t.Errorf("%s for %q has the upstream's %s", tt.name, origin, name)
					}
				}
				checkGuards(t, tt.name, h)
			}
		})
	}
}

// checkGuards checks the headers of an answer outside the page.
func checkGuards(t *testing.T, what string, h http.Header) {
	t.Helper()
	policy := h["Content-Security-Policy"]
	if len(policy) != 1 || !strings.HasPrefix(policy[0], "sandbox; default-src 'none';") || !strings.Contains(policy[0], "frame-ancestors 'none'") || strings.Contains(policy[0], "self") {
		t.Errorf("%s: policy %q", what, policy)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := strings.Join(h[name], ", "); got != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
}

// What a form sends may be shown in a browser, and so may what it gets; only programs and scripts send JSON.
func TestServer_GuardsWhatABrowserMayShow(t *testing.T) {
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"} {
		r := request("POST", "/v1/messages", "{}")
		r.Header["Content-Type"] = []string{kind}
		checkGuards(t, "answer to "+kind, ask(guarded(&fake{}, io.Discard), r).Header())
	}
	for _, method := range []string{"GET", "PUT"} {
		checkGuards(t, method, ask(guarded(&fake{}, io.Discard), request(method, "/v1/files", "", "Content-Type", "application/json")).Header())
	}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8"} {
		h := ask(guarded(&fake{}, io.Discard), request("POST", "/v1/messages", "{}", "Content-Type", kind)).Header()
		if got := h["Content-Security-Policy"]; got != nil {
			t.Errorf("answer to %s: got the policy %q, want none: no browser shows it", kind, got)
		}
	}
}

func TestServer_PagesHeadersReachNoUpstream(t *testing.T) {
	var got http.Header
	g := &fake{serve: func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }}
	ask(guarded(g, io.Discard), request("POST", "/v1/messages", "{}", "Origin", listedOrigin, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "X-Api-Key", "sk"))
	if diff := cmp.Diff(http.Header{"X-Api-Key": {"sk"}}, got); diff != "" {
		t.Errorf("headers of a listed page's request (-want +got):\n%s", diff)
	}
	ask(guarded(g, io.Discard), request("POST", "/v1/messages", "{}", "Sec-Fetch-Mode", "cors", "X-Api-Key", "sk"))
	if diff := cmp.Diff(http.Header{"X-Api-Key": {"sk"}, "Sec-Fetch-Mode": {"cors"}}, got); diff != "" {
		t.Errorf("headers of a program's request (-want +got):\n%s", diff)
	}
}

package server_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ridethrough/ridethrough/internal/server"
)

const shell = "<!doctype html><title>ridethrough</title>"

var script = bytes.Repeat([]byte("export {};\n"), 400)

// packed returns a text with gzip.
func packed(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a buffer never fails
	_ = z.Close()
	return b.Bytes()
}

func files() fstest.MapFS {
	return fstest.MapFS{
		"index.html":        {Data: []byte(shell)},
		"app.js.gz":         {Data: packed(script)},
		"icons/waiting.svg": {Data: []byte("<svg/>")},
		"licenses.txt":      {Data: []byte("MIT")},
		"other.json":        {Data: []byte("{}")},
	}
}

func paged(token string) *server.Server {
	return server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Page: files(), Token: token})
}

func TestPage_HasContentSecurityPolicy(t *testing.T) {
	w := ask(paged(""), request("GET", "/-/ui/", ""))
	if w.Code != 200 || w.Body.String() != shell {
		t.Fatalf("%d %q", w.Code, w.Body)
	}
	for name, want := range map[string]string{
		"Content-Type":                 "text/html; charset=utf-8",
		"Cache-Control":                "no-cache",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Vary":                         "Accept-Encoding",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("%s: %q is missing", policy, want)
		}
	}
	const images = "img-src 'self' data:" // the icon with the number of calls is drawn by the page
	if !strings.Contains(policy, images) || strings.Contains(policy, "unsafe") || strings.Count(policy, "data:") != 1 {
		t.Errorf("policy %s", policy)
	}
}

func TestRoutes_AnswersRunNoScripts(t *testing.T) {
	for _, path := range []string{"/-/", "/-/ui/none.js", "/-/waits", "/-/waits/1", "/-/incidents/x", "/-/policies", "/-/conversations", "/-/openapi.json", "/-/livez", "/-/none", "/"} {
		for _, token := range []string{"", "t0ken"} {
			r := request("GET", path, "")
			r.Header.Set("Accept", "text/html")
			checkGuards(t, path, ask(paged(token), r).Header())
		}
	}
	r := request("GET", "/-/ui/", "")
	r.Host = "evil.example"
	if w := ask(paged(""), r); w.Code != 421 || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestPage_ServesFiles(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		kind, cache  string
	}{
		{"GET", "/-/ui/app.js", 200, "text/javascript; charset=utf-8", "no-cache"},
		{"HEAD", "/-/ui/app.js", 200, "text/javascript; charset=utf-8", "no-cache"},
		{"GET", "/-/ui/index.html", 200, "text/html; charset=utf-8", "no-cache"},
		{"GET", "/-/ui/icons/waiting.svg", 200, "image/svg+xml", "no-cache"},
		{"GET", "/-/ui/licenses.txt", 200, "text/plain; charset=utf-8", "no-cache"},
		{"GET", "/-/ui/other.json", 200, "application/octet-stream", "no-cache"}, // not as the machine's tables say
		{"GET", "/-/ui/none.js", 404, "application/problem+json", "no-store"},
		{"GET", "/-/ui/icons", 404, "application/problem+json", "no-store"},
		{"GET", "/-/ui/icons/", 404, "application/problem+json", "no-store"},
		{"GET", "/-/ui/%2e%2e/server.go", 404, "application/problem+json", "no-store"},
		{"POST", "/-/ui/", 405, "application/problem+json", "no-store"},
	} {
		w := ask(paged(""), request(c.method, c.path, ""))
		if w.Code != c.status || w.Header().Get("Content-Type") != c.kind || w.Header().Get("Cache-Control") != c.cache {
			t.Errorf("%s %s: %d, %v", c.method, c.path, w.Code, w.Header())
		}
		if c.method == "HEAD" && w.Body.Len() > 0 {
			t.Errorf("HEAD has a body of %d bytes", w.Body.Len())
		}
	}
}

func TestPage_CompressesForClientsThatAccept(t *testing.T) {
	for coding, want := range map[string]bool{
		"gzip": true, "br, gzip": true, "br;q=1.0, gzip;q=0.5": true, "*": true, "GZIP ; q=1": true,
		"": false, "br": false, "identity": false, "gzip;q=0": false, "gzip; q=0.0": false, "xgzip": false,
	} {
		w := ask(paged(""), request("GET", "/-/ui/app.js", "", "Accept-Encoding", coding))
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("%q: compressed %t", coding, got)
			continue
		}
		text := w.Body.Bytes()
		if want {
			if len(text) > 200 {
				t.Errorf("%q: %d bytes", coding, len(text))
			}
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatalf("new reader: %v", err)
			}
			text, _ = io.ReadAll(z)
		}
		if !bytes.Equal(text, script) {
			t.Errorf("%q: it is not the file", coding)
		}
	}
	if w := ask(paged(""), request("GET", "/-/ui/icons/waiting.svg", "", "Accept-Encoding", "gzip")); w.Header().Get("Content-Encoding") != "" {
		t.Error("a file that is stored as it is is compressed")
	}
}

func TestPage_RevalidatesWithETag(t *testing.T) {
	s := paged("")
	plain := ask(s, request("GET", "/-/ui/app.js", "")).Header().Get("ETag")
	packed := ask(s, request("GET", "/-/ui/app.js", "", "Accept-Encoding", "gzip")).Header().Get("ETag")
	if plain == packed || len(plain) < 20 || plain[0] != '"' {
		t.Errorf("%s, %s", plain, packed)
	}
	w := ask(s, request("GET", "/-/ui/app.js", "", "Accept-Encoding", "gzip", "If-None-Match", packed))
	if w.Code != 304 || w.Body.Len() > 0 || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
	}
	if w := ask(s, request("GET", "/-/ui/app.js", "", "If-None-Match", `"another"`)); w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
	for _, known := range []string{"*", `"another", W/` + plain} {
		if w := ask(s, request("GET", "/-/ui/app.js", "", "If-None-Match", known)); w.Code != 304 || w.Header().Get("Content-Type") != "" {
			t.Errorf("If-None-Match: %s: got status %d, %v, want 304 without a type", known, w.Code, w.Header())
		}
	}
	w = ask(s, request("GET", "/-/ui/app.js", "", "Range", "bytes=0-1"))
	if w.Code != 200 || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) || w.Body.Len() < 3 {
		t.Errorf("a range of the file: got status %d, %d bytes, want 200 and all of it", w.Code, w.Body.Len())
	}
}

func TestPage_NeedsNoTokenUnlikeItsData(t *testing.T) {
	s := paged("t0ken")
	if w := ask(s, request("GET", "/-/ui/", "")); w.Code != 200 {
		t.Errorf("the page: %d", w.Code)
	}
	for _, path := range []string{"/-/live", "/-/waits", "/-/upstreams"} {
		if w := ask(s, request("GET", path, "")); w.Code != 401 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestPage_RefusesOtherHostsAndOrigins(t *testing.T) {
	r := request("GET", "/-/ui/", "")
	r.Host = "evil.example"
	if w := ask(paged(""), r); w.Code != 421 || strings.Contains(w.Body.String(), shell) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(paged(""), request("POST", "/-/waits/17", `{"do":"now"}`, "Content-Type", "application/json", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")); w.Code != 403 {
		t.Errorf("another site acts: %d", w.Code)
	}
	if w := ask(paged(""), request("POST", "/-/waits/17", `{"do":"now"}`, "Content-Type", "application/json", "Origin", "http://127.0.0.1:8484", "Sec-Fetch-Site", "same-origin")); w.Code != 200 {
		t.Errorf("the page acts: %d", w.Code)
	}
}

func TestPage_BrowserIsRedirected(t *testing.T) {
	html := "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct {
		method, path, accept string
		led                  bool
	}{
		{"GET", "/", html, true},
		{"HEAD", "/", html, true},
		{"GET", "/-/", html, true},
		{"GET", "/", "*/*", false}, // an SDK that checks the server
		{"GET", "/", "", false},
		{"GET", "/-/", "*/*", false},
		{"POST", "/", html, false},
		{"GET", "/v1/models", html, false},
	} {
		for _, token := range []string{"", "t0ken"} {
			w := ask(paged(token), request(c.method, c.path, "", "Accept", c.accept, "X-Ridethrough-Token", "t0ken"))
			if got := w.Code == 302 && w.Header().Get("Location") == "/-/ui/"; got != c.led {
				t.Errorf("%s %s, %q: %d", c.method, c.path, c.accept, w.Code)
			}
		}
	}
	if w := ask(server.New(server.Config{Gateway: &fake{}}), request("GET", "/", "", "Accept", html)); w.Code != 200 {
		t.Errorf("without a page: %d", w.Code)
	}
	if w := ask(server.New(server.Config{Gateway: &fake{}}), request("GET", "/-/ui/", "")); w.Code != 404 {
		t.Errorf("without a page: %d", w.Code)
	}
}

// reads is a page that counts what is read of it.
type reads struct {
	fstest.MapFS
	count map[string]int
}

func (r reads) ReadFile(name string) ([]byte, error) {
	r.count[name]++
	return r.MapFS.ReadFile(name)
}

func TestPage_IsReadAtItsFirstRequest(t *testing.T) {
	page := reads{files(), map[string]int{}}
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Page: page})
	if len(page.count) > 0 {
		t.Errorf("read before the first request: %v, want nothing", page.count)
	}
	for range 2 {
		if w := ask(s, request("GET", "/-/ui/", "")); w.Code != 200 {
			t.Errorf("GET /-/ui/: got %d, want 200", w.Code)
		}
	}
	if want := map[string]int{"index.html": 1}; !maps.Equal(page.count, want) {
		t.Errorf("read after two requests for the page: %v, want %v", page.count, want)
	}
}

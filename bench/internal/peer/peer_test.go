package peer_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

func TestParseScene_ReadsString(t *testing.T) {
	for _, s := range []peer.Scene{
		{Kind: peer.Answer},
		{Kind: peer.Stall},
		{Kind: peer.Refuse},
		{Kind: peer.Refuse, Until: time.UnixMilli(1_793_613_600_123)},
		{Kind: peer.Stream, Chunks: 50},
		{Kind: peer.Stream, Chunks: 1_000_000, Every: 24 * time.Hour},
	} {
		if got, err := peer.ParseScene(s.String()); err != nil || got.String() != s.String() || !got.Until.Equal(s.Until) || got.Every != s.Every {
			t.Errorf("%s: got %+v, %v", s, got, err)
		}
	}
}

func TestParseScene_RefusesOtherModels(t *testing.T) {
	for _, model := range []string{
		"", "gpt-5", "answer", "bench-", "bench-answer-1", "bench-stream", "bench-stream-1", "bench-stream-0-1",
		"bench-stream--1-1", "bench-stream-1-x", "bench-refuse-1-2", "bench-refuse-99999999999999999999",
	} {
		if s, err := peer.ParseScene(model); err == nil {
			t.Errorf("%s: got %+v", model, s)
		}
	}
}

// provider starts an upstream and gives its base URL.
func provider(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { _ = peer.NewUpstream().Serve(l) }()
	return "http://" + l.Addr().String()
}

// ask sends a request to a URL and reads its answer.
func ask(t *testing.T, to, model string) (int, string) {
	t.Helper()
	resp, err := http.Post(to+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+model+`","messages":[]}`))
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read all: %v", err)
	}
	return resp.StatusCode, string(body)
}

// counts asks an upstream what it has seen.
func counts(t *testing.T, base string) (c peer.Counts) {
	t.Helper()
	resp, err := http.Get(base + peer.CountsPath)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		t.Fatalf("decode: %v", err)
	}
	return c
}

func TestUpstream_PlaysScenes(t *testing.T) {
	upstream := provider(t)
	u, _ := url.Parse(upstream)
	proxy := httptest.NewServer(peer.Baseline(u))
	defer proxy.Close()
	for _, base := range []string{upstream, proxy.URL} {
		for _, c := range []struct {
			model          string
			status, tokens int
			end            string
		}{
			{"bench-answer", 200, 0, `"total_tokens":450}}`},
			{"bench-stream-50-0", 200, 50, "data: [DONE]\n\n"},
			{"bench-stream-3-100", 200, 3, "data: [DONE]\n\n"},
			{"bench-refuse", 503, 0, `"code":null}}`},
			{"bench-refuse-1", 200, 5, "data: [DONE]\n\n"}, // until long ago
			{"bench-refuse-99999999999999", 503, 0, `"code":null}}`},
			{"gpt-5", 400, 0, `"invalid_request_error"}}`},
		} {
			status, body := ask(t, base, c.model)
			if status != c.status || strings.Count(body, " token") != c.tokens || !strings.HasSuffix(body, c.end) {
				t.Errorf("%s: got %d %q", c.model, status, body)
			}
			if c.model == "bench-answer" && len(body) != 1024 {
				t.Errorf("an answer of %d bytes", len(body))
			}
		}
	}
}

func TestUpstream_PlaysScenesOverEveryLink(t *testing.T) {
	folder := t.TempDir()
	if err := peer.WriteCertificate(folder); err != nil {
		t.Fatalf("write certificate: %v", err)
	}
	ca, err := os.ReadFile(filepath.Join(folder, peer.CertificateFile))
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	for link, proto := range map[peer.Link]string{peer.Plain: "HTTP/1.1", peer.TLS: "HTTP/1.1", peer.H2: "HTTP/2.0"} {
		u, base := peer.NewUpstream(), ""
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("listen: %v", err)
		}
		go func() { _ = u.ServeOver(link, l, folder) }()
		base = link.Scheme() + "://" + l.Addr().String()
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
		for _, recovered := range []bool{false, true} {
			for model, want := range map[string]int{"bench-answer": 200, "bench-stream-3-100": 200, "bench-refuse": 503, "gpt-5": 400} {
				if recovered && model == "bench-refuse" {
					want = 200
				}
				resp, err := c.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+model+`"}`))
				if err != nil {
					t.Fatalf("%s over %s: %v", model, link, err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
				if err != nil || resp.StatusCode != want || resp.Proto != proto || stream != strings.HasSuffix(string(body), "data: [DONE]\n\n") {
					t.Errorf("%s over %s, recovered %t: got %d by %s, a stream: %t, %q, %v; want %d by %s", model, link, recovered, resp.StatusCode, resp.Proto, stream, body, err, want, proto)
				}
			}
			resp, err := c.Post(base+peer.RecoverPath, "application/json", nil)
			if err != nil {
				t.Fatalf("recover over %s: %v", link, err)
			}
			resp.Body.Close()
		}
		c.CloseIdleConnections()
		l.Close()
	}
}

func TestUpstream_CountsAndForgets(t *testing.T) {
	base := provider(t)
	ask(t, base, "bench-answer")
	ask(t, base, "bench-refuse-1")
	if c := counts(t, base); c.Requests != 2 || len(c.Arrivals) != 1 || c.Held != 0 {
		t.Errorf("got %+v", c)
	}
	resp, err := http.Post(base+peer.CountsPath, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	resp.Body.Close()
	if c := counts(t, base); c.Requests != 0 || len(c.Arrivals) != 0 {
		t.Errorf("after that %+v", c)
	}
}

func FuzzParseScene(f *testing.F) {
	for _, model := range []string{"bench-answer", "bench-stream-50-20000", "bench-refuse-1793613600123"} {
		f.Add(model)
	}
	f.Fuzz(func(t *testing.T, model string) {
		s, err := peer.ParseScene(model)
		if err != nil {
			return
		}
		if again, err := peer.ParseScene(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%s: %+v, then %+v, %v", model, s, again, err)
		}
	})
}

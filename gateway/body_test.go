package gateway_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// prose returns a request of about that many bytes, of random words.
func prose(size int) string {
	words := strings.Fields("the of a and to in is that it was for on are as with his they at be this from have or by one had not but what all were when we there can an your which their said if do")
	dice := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet","max_tokens":64,"messages":[{"role":"user","content":"`)
	for b.Len() < size {
		b.WriteString(words[dice.IntN(len(words))] + " ")
	}
	b.WriteString(`"}],"stream":true}`)
	return b.String()
}

func TestBody_SameInEveryTry(t *testing.T) {
	sizes := []int{0, 100, 9000, 200 << 10, 3 << 20}
	if testing.Short() {
		sizes = sizes[:4]
	}
	for name, spool := range map[string]gateway.Spool{
		"in memory": {},
		"on disk":   {Memory: 1, Dir: t.TempDir()},
	} {
		for _, size := range sizes {
			synctest.Test(t, func(t *testing.T) {
				want, tries := prose(size), 0
				provider := simulator.New(simulator.Script{})
				defer provider.Close()
				w := newHarnessWith(t, gateway.Config{
					Policy: policy.Patient(), Spool: spool, Upstreams: everything(address("provider.test")),
					Base: roundTrip(func(req *http.Request) (*http.Response, error) {
						tries++
						got, err := io.ReadAll(req.Body)
						_ = req.Body.Close()
						if err != nil || string(got) != want || req.ContentLength != int64(len(want)) {
							t.Errorf("%s: try %d got %d bytes of %d, %v", name, tries, len(got), len(want), err)
						}
						if tries < 5 {
							return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
						}
						return says(200, messageStart+messageHi+messageStop)(req)
					}),
				})
				if _, text, err := w.get("/v1/messages", want); err != nil || !strings.Contains(text, "message_stop") || tries != 5 {
					t.Errorf("%s: %d bytes: %q, %v in %d tries; want no error, body with \"message_stop\", tries 5", name, size, text, err, tries)
				}
			})
		}
	}
}

func TestBody_WithoutRoomIsRefused(t *testing.T) {
	for name, spool := range map[string]gateway.Spool{
		"no disk to go to":  {Memory: 1, Dir: "/dev/null/nowhere"},
		"a disk of 100 KiB": {Memory: 1, Disk: 100 << 10, Dir: t.TempDir()},
	} {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			synctest.Test(t, func(t *testing.T) {
				w := newHarnessWith(t, gateway.Config{
					Policy: policy.Patient(), Spool: spool, Upstreams: everything(address("provider.test")),
					Base: roundTrip(func(*http.Request) (*http.Response, error) { t.Error("it is sent"); return nil, io.EOF }),
				})
				resp, text, err := w.get(path, string(noise(600<<10)))
				if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "5" ||
					!strings.HasPrefix(text, `{"type":"error","error":{"type":"overloaded_error","message":"ridethrough: memory and disk have no room`) {
					t.Errorf("%s, %s: %d, Retry-After %q, %s, error %v", name, path, resp.StatusCode, resp.Header.Get("Retry-After"), text, err)
				}
				nothingIsLeft(t, w.gateway, &echo{t: t})
			})
		}
	}
}

// noise returns bytes that cannot be compressed.
func noise(size int) []byte {
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	return text
}

func TestBody_LossOnDiskEndsOnlyItsRequest(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(outage(time.Hour))
		defer provider.Close()
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Patient(), Base: provider.Transport(),
			Spool: gateway.Spool{Memory: 1, Dir: dir}, Upstreams: everything(address("provider.test")),
		})
		time.AfterFunc(time.Minute, func() {
			if err := w.gateway.LoseSpool(); err != nil {
				t.Errorf("LoseSpool: %v", err)
			}
		})
		_, text, _ := w.get("/v1/messages", prose(20<<10))
		if !strings.Contains(text, "the request's body could not be kept") || time.Since(w.begun) != 105*time.Second {
			t.Errorf("%q after %v", text[max(0, len(text)-300):], time.Since(w.begun))
		}
		_, text, err := w.get("/v1/messages", prose(20<<10))
		if err != nil || !strings.Contains(text, "message_stop") {
			t.Errorf("the same again: %q, %v; want no error, body with \"message_stop\"", text[max(0, len(text)-300):], err)
		}
	})
}

func TestBody_ManyOnDiskAreNotMixedUp(t *testing.T) {
	dir, bodies := t.TempDir(), 40
	if testing.Short() {
		bodies = 12
	}
	synctest.Test(t, func(t *testing.T) {
		provider := simulator.New(outage(20 * time.Minute))
		defer provider.Close()
		seen := map[string]int{}
		w := newHarnessWith(t, gateway.Config{
			Policy: policy.Patient(), Spool: gateway.Spool{Memory: 64 << 10, Dir: dir}, Upstreams: everything(address("provider.test")),
			Base: provider.Transport(),
		})
		done := make(chan struct{})
		for i := range bodies {
			go func() {
				defer func() { done <- struct{}{} }()
				time.Sleep(time.Duration(i*7%bodies) * 13 * time.Second)
				body := strings.Replace(prose(20<<10+i*3000), "64", strconv.Itoa(1000+i), 1)
				if _, _, err := w.get("/v1/messages", body); err != nil {
					t.Errorf("get: %v", err)
				}
			}()
		}
		for range bodies {
			<-done
		}
		for _, r := range provider.Requests() {
			if r.Outcome == "ok" {
				seen[string(r.Body[:200])]++
			}
		}
		if len(seen) != bodies {
			t.Errorf("%d different bodies arrived, want %d", len(seen), bodies)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBody_BeyondTheBoundIsRefused(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{})
			var body io.Reader = bytes.NewReader(make([]byte, 33<<20))
			if !known {
				body = io.MultiReader(body)
			}
			req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://gateway.test/v1/messages", body)
			resp, err := w.Do(req)
			if err != nil {
				t.Fatalf("Do: %v", err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 413 || !strings.Contains(string(text), "larger than 33554432 bytes") || !strings.Contains(string(text), "request_too_large") {
				t.Errorf("status %d, body %q", resp.StatusCode, text)
			}
			if _, text, err := w.get("/v1/messages", claude); err != nil || !strings.Contains(text, "message_stop") {
				t.Errorf("the next request: %q, %v; want no error, body with \"message_stop\"", text, err)
			}
		})
	}
}

func TestBody_CompressedRequestIsKeptAlive(t *testing.T) {
	var zipped, zstandard bytes.Buffer
	g := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(g, claude)
	_ = g.Close()
	z, _ := zstd.NewWriter(&zstandard)
	_, _ = io.WriteString(z, claude)
	_ = z.Close()
	for coding, body := range map[string]string{"gzip": zipped.String(), "zstd": zstandard.String()} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
				got, _ := io.ReadAll(req.Body)
				if tries++; string(got) != body || req.Header.Get("Content-Encoding") != coding {
					t.Errorf("%s: the provider got %q", coding, got)
				}
				if tries < 4 {
					return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
				}
				return says(200, messageStart+messageHi+messageStop)(req)
			}))
			_, text, err := w.get("/v1/messages", body, "Content-Encoding", coding)
			if err != nil || !strings.HasPrefix(text, "event: ping") || !strings.HasSuffix(text, messageStop) {
				t.Errorf("%s: %q, %v", coding, text, err)
			}
		})
	}
}

func TestBody_UnreadableEncodingIsRetriedWithoutKeepalive(t *testing.T) {
	unreadableIsRetried(t, "br", "\x00\x01\x02")
	if testing.Short() {
		return // the bomb has 31 MiB
	}
	var bomb bytes.Buffer
	g := gzip.NewWriter(&bomb)
	_, _ = io.WriteString(g, strings.Replace(claude, "Hi", strings.Repeat("a", 31<<20), 1))
	_ = g.Close()
	unreadableIsRetried(t, "gzip", bomb.String())
}

func unreadableIsRetried(t *testing.T, coding, body string) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		w := newHarnessOf(t, policy.Patient(), roundTrip(func(req *http.Request) (*http.Response, error) {
			if tries++; tries < 6 {
				return &http.Response{StatusCode: 529, Body: http.NoBody}, nil
			}
			return says(200, messageStart+messageHi+messageStop)(req)
		}))
		_, text, err := w.get("/v1/messages", body, "Content-Encoding", coding)
		if err != nil || text != messageStart+messageHi+messageStop {
			t.Errorf("%s: body %q, error %v", coding, text, err)
		}
	})
}

func TestBody_SaysNothingOfTheOneBefore(t *testing.T) {
	var last gateway.Event
	g := newGateway(t, gateway.Config{
		Upstreams: everything(address("provider.test")), Base: says(200, gpt), OnEvent: func(e gateway.Event) { last = e },
	})
	for _, c := range []struct {
		body, model string
		stream      bool
	}{{`{"model":"a","stream":true}`, "a", true}, {`{}`, "", false}} {
		g.ServeHTTP(&recorder{header: http.Header{}}, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(c.body)))
		if got := last.Call; got.Model != c.model || got.Stream != c.stream {
			t.Errorf("a request with %s: got model %q, stream %t, want %q, %t", c.body, got.Model, got.Stream, c.model, c.stream)
		}
	}
}

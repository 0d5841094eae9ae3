package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// scripted is a provider that answers its requests in turn, the last answer again and again.
type scripted struct {
	mu      sync.Mutex
	answers []roundTrip
	asked   int
}

func (p *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	p.mu.Lock()
	answer := p.answers[min(p.asked, len(p.answers)-1)]
	p.asked++
	p.mu.Unlock()
	_ = retry.Sleep(req.Context(), time.Second)
	return answer(req)
}

// A client whose key is refused for good after it was accepted is to renew it: it gets the provider's own answer, with its
// status, after some seconds, and at once from then on.
func TestSeen_ClientGetsTheLastingRefusalOfItsKey(t *testing.T) {
	const said = `{"error":{"type":"authentication_error","message":"invalid key"}}`
	for name, at := range players {
		synctest.Test(t, func(t *testing.T) {
			c := at.of(t)
			p := &scripted{answers: []roundTrip{
				says(200, c.good(), "Content-Type", c.form.ContentType()), says(401, said, "Content-Type", "application/json", "X-Own", "yes"),
			}}
			w := newHarnessWith(t, gateway.Config{Upstreams: everything(address("provider.test")), Policy: policy.Patient(), Base: p})
			for i, most := range []time.Duration{2 * time.Second, 10 * time.Second, 2 * time.Second} {
				begun, before := time.Now(), p.asked
				resp, text, err := w.get(c.path, c.body, "Authorization", "Bearer k", "X-Api-Key", "k")
				took, asked := time.Since(begun), p.asked-before
				h := resp.Header
				switch {
				case i == 0 && (err != nil || resp.StatusCode != 200 || asked != 1):
					t.Errorf("%s: the first request got %d %q, %v after %d tries, want an answer", name, resp.StatusCode, text, err, asked)
				case i > 0 && (err != nil || resp.StatusCode != 401 || text != said || h.Get("X-Own") != "yes" || h.Get("X-Should-Retry") != ""):
					t.Errorf("%s: request %d got %d %q %v, %v; want the provider's 401", name, i, resp.StatusCode, text, h, err)
				case asked != []int{1, 3, 1}[i] || took > most:
					t.Errorf("%s: request %d took %v and %d tries, want %v at most", name, i, took, asked, most)
				}
				time.Sleep(time.Second)
			}
		})
	}
}

// What asks for no answer, such as an embedding, has its model and key away for a moment too.
func TestSeen_EmbeddingsOutlastARefusalOfWhatWasAnswered(t *testing.T) {
	for _, tt := range []struct {
		name, path, body string
		status           int
		refusal          string
	}{
		{"model", "/v1/embeddings", `{"input":"Hi","model":"nomic"}`, 404, `{"error":{"message":"The model nomic was not found","code":404}}`},
		{"key", "/v1/embeddings", `{"input":"Hi","model":"nomic"}`, 401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`},
		{"Ollama's model", "/api/embed", `{"input":"Hi","model":"nomic"}`, 404, `{"error":"model \"nomic\" not found, try pulling it first"}`},
		{"Gemini's model", "/v1beta/models/nomic:embedContent", `{"content":"Hi"}`, 404, `{"error":{"code":404,"message":"models/nomic is not found for API version v1beta","status":"NOT_FOUND"}}`},
	} {
		for known, want := range map[bool][]int{true: {1, 2, 3}, false: {1, 2}} {
			synctest.Test(t, func(t *testing.T) {
				good, bad := says(200, `{"data":[]}`), says(tt.status, tt.refusal)
				p := &scripted{answers: []roundTrip{good, bad, good}}
				if !known {
					p.answers = []roundTrip{bad, good}
				}
				w := newHarnessWith(t, gateway.Config{Upstreams: everything(address("provider.test")), Policy: policy.Patient(), Base: p})
				for range 2 {
					resp, text, err := w.get(tt.path, tt.body, "Authorization", "Bearer k")
					refused := !known && p.asked == 1
					if err != nil || refused != (resp.StatusCode == tt.status) || refused && text != tt.refusal {
						t.Errorf("%s, known %v: got %d %q, %v after %d tries", tt.name, known, resp.StatusCode, text, err, p.asked)
					}
				}
				if p.asked != want[len(want)-1] {
					t.Errorf("%s, known %v: the provider was asked %d times, want %d", tt.name, known, p.asked, want[len(want)-1])
				}
			})
		}
	}
}

// A call that fails by itself ends while the others are answered at once, and its client learns why.
func TestSeen_OneBadCallOfAHundred(t *testing.T) { oneBadCall(t, 20*time.Second) }

// So does one of a burst, though none calls after it.
func TestSeen_OneBadCallOfABurst(t *testing.T) { oneBadCall(t, time.Millisecond) }

// oneBadCall makes a bad call and 99 others so far apart.
func oneBadCall(t *testing.T, apart time.Duration) {
	for name, at := range players {
		synctest.Test(t, func(t *testing.T) {
			c := at.of(t)
			bad := strings.Replace(c.body, "{", `{"poison":true,`, 1)
			var mu sync.Mutex
			tries := 0
			provider := roundTrip(func(req *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(req.Body)
				_ = retry.Sleep(req.Context(), time.Second)
				if !strings.Contains(string(body), "poison") {
					return says(200, c.good(), "Content-Type", c.form.ContentType())(req)
				}
				mu.Lock()
				tries++
				mu.Unlock()
				return says(500, `{"error":{"type":"api_error","message":"Internal server error"}}`, "Content-Type", "application/json")(req)
			})
			upstreams := everything(address("provider.test"))
			w := newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: provider})
			var all sync.WaitGroup
			all.Go(func() {
				resp, text, err := w.get(c.path, bad, "Authorization", "Bearer k")
				s := c.see(t, resp, text, err)
				if failed := s.failed || err != nil; !failed || tries > 8 || !strings.Contains(text, "it is this one, not the provider") && c.form != api.JSON {
					t.Errorf("%s: the bad call got %d, …%q, %v after %d tries, want at most 8 and an error that says so", name, resp.StatusCode, text[max(0, len(text)-300):], err, tries)
				}
			})
			for n := range 99 {
				all.Go(func() {
					time.Sleep(time.Duration(n+1) * apart)
					begun := time.Now()
					resp, text, err := w.get(c.path, c.body, "Authorization", "Bearer k")
					if s := c.see(t, resp, text, err); s.text != goodText || time.Since(begun) > time.Minute {
						t.Errorf("%s: call %d got %d %q, %v after %v, want the answer", name, n, resp.StatusCode, text, err, time.Since(begun))
					}
				})
			}
			all.Wait()
		})
	}
}

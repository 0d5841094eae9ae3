package npm_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// passedThrough are the calls that ask for no answer, with eight retries of the SDK's own.
var passedThrough = []string{
	"openai.embeddings", "openai.moderations", "openai.models", "openai.files", "anthropic.count_tokens", "anthropic.models",
	"google.embedContent", "google.countTokens", "google.models", "ai.openai embed",
}

// someResult is enough of one for each of them.
const someResult = `{"id":"x","object":"list","data":[{"object":"embedding","index":0,"id":"m","embedding":[0.5]}],"has_more":false,` +
	`"results":[],"input_tokens":1,"totalTokens":1,"embeddings":[{"values":[0.5]}],"models":[{"name":"models/m"}],"usage":{"prompt_tokens":1}}`

// failing is a provider that fails for a time from its first request on.
type failing struct {
	once  sync.Once
	until time.Time
	tries atomic.Int64
}

// ServeHTTP implements http.Handler.
func (p *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	p.once.Do(func() { p.until = time.Now().Add(outageOfCalls) })
	p.tries.Add(1)
	w.Header().Set("Content-Type", "application/json")
	if time.Now().Before(p.until) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"message":"down","code":503,"status":"UNAVAILABLE"}}`)
		return
	}
	_, _ = io.WriteString(w, someResult)
}

// outageOfCalls is longer than the gateway's own retries of such a call.
const outageOfCalls = 6 * time.Second

// What an SDK survives by its own retries it survives through the gateway.
func TestSDK_KeepsItsPatienceInCallsThatAreNotHeld(t *testing.T) {
	n := sdks(t)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, someResult) }))
	t.Cleanup(provider.Close)
	done, _ := n.call(t, passedThrough[0], provider.URL, false)
	within(t, done, "a result") // by then the SDKs are loaded
	for _, name := range passedThrough {
		for _, through := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/through the gateway %v", name, through), func(t *testing.T) {
				t.Parallel()
				p := &failing{}
				provider := httptest.NewServer(p)
				t.Cleanup(provider.Close)
				address := provider.URL
				if through {
					address = inFrontOf(t, provider.URL, policy.Patient(), new(atomic.Int64))
				}
				began := time.Now()
				done, _ := n.call(t, name, address, false)
				got := within(t, done, "a result")
				t.Logf("| %s | %v | %v | %d tries |", name, through, time.Since(began).Round(100*time.Millisecond), p.tries.Load())
				if got.Error != "" || got.Text != "1" {
					t.Errorf("call result %+v after %v, want one after the outage of %v", got, time.Since(began), outageOfCalls)
				}
			})
		}
	}
}

// inFrontOf returns the URL of a gateway in front of a provider, which counts its requests.
func inFrontOf(t *testing.T, provider string, p policy.Policy, asked *atomic.Int64) string {
	t.Helper()
	base, err := url.Parse(provider)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	upstreams := gateway.Defaults()
	for i := range upstreams {
		upstreams[i].Base = base
	}
	g, err := gateway.New(gateway.Config{Upstreams: upstreams, Policy: p})
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	front := listening(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		g.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		g.Close()
		front.Close()
	})
	return strings.TrimSuffix(front.URL, "/")
}

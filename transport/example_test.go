package transport_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// An overloaded provider, and an http.Client that does not notice. An SDK is
// given the same client.
func ExampleTransport() {
	requests := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests == 1 {
			w.WriteHeader(529)
			fmt.Fprint(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"content":[{"type":"text","text":"forty-two"}]}`)
	}))
	defer provider.Close()

	p := policy.Patient()
	p.Backoff.Steps = []time.Duration{time.Millisecond} // the example is in a hurry
	client := &http.Client{Transport: &transport.Transport{Retry: retry.Retrier{
		Policy: p,
		OnWait: func(w policy.Wait) { fmt.Println(w.Fault, "- again in", w.Verdict.Wait) },
	}}}
	resp, err := client.Post(provider.URL+"/v1/messages", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, string(body))
	// Output:
	// HTTP 529: Overloaded - again in 1ms
	// 200 OK {"content":[{"type":"text","text":"forty-two"}]}
}

// A provider that takes a request and says nothing.
func ExampleLimits() {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	client := &http.Client{Transport: &transport.Transport{
		Limits: transport.Limits{FirstByte: time.Millisecond},
		Retry:  retry.Retrier{Policy: policy.Policy{Retries: 1}, OnTry: func(t retry.Try) { fmt.Println(t.Fault) }},
	}}
	resp, err := client.Post(silent.URL+"/v1/messages", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// no first byte in 1ms
	// no first byte in 1ms
	// 503 Service Unavailable
}

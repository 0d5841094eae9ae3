package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// What an upstream states about its limits is shown, and an event comes at 80 and at 95 %, from answers and from
// refusals.
func TestUpstreams_ShowWhatIsLeftOfTheLimits(t *testing.T) {
	left, status := "30", 200
	base := roundTrip(func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		h := http.Header{"Content-Type": {"application/json"}, "X-Ratelimit-Limit-Requests": {"100"}, "X-Ratelimit-Remaining-Requests": {left}}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(`{"choices":[{"message":{"content":"Hello"}}]}`))}, nil
	})
	var crossed []string
	g, err := gateway.New(gateway.Config{
		Policy: policy.Policy{}, Base: base,
		Upstreams: []gateway.Upstream{{Name: "main", API: "openai", Base: address("provider.test")}},
		OnEvent: func(e gateway.Event) {
			if e.Crossed != nil {
				crossed = append(crossed, fmt.Sprintf("%s %s %s %.2f", e.Crossed.Upstream, e.Crossed.Model, e.Crossed.Limit.Name, e.Crossed.Level))
			}
		},
	})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	ask := func(model string) {
		req := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"Hi"}]}`))
		g.ServeHTTP(&recorder{header: http.Header{}}, req)
	}
	for _, step := range []struct {
		left   string
		status int
	}{{"30", 200}, {"20", 200}, {"19", 200}, {"0", 429}, {"0", 429}} {
		left, status = step.left, step.status
		ask("gpt-5")
	}
	if got, want := strings.Join(crossed, ", "), "main gpt-5 requests 0.80, main gpt-5 requests 0.95"; got != want {
		t.Errorf("crossed: got %s, want %s", got, want)
	}
	left, status = "70", 200
	ask("gpt-5-mini")
	got := ""
	for _, h := range g.Upstreams()[0].Limits {
		for _, l := range h.Limits {
			got += fmt.Sprintf("%s %s %v/%v ", h.Model, l.Name, l.Remaining, l.Limit)
		}
	}
	if want := "gpt-5 requests 0/100 gpt-5-mini requests 70/100 "; got != want {
		t.Errorf("limits: got %s, want %s", got, want)
	}
}

package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// A gateway is an http.Handler: here in front of a provider that resets the
// first connection and then sends an error inside a 200.
func ExampleGateway() {
	provider := simulator.New(simulator.Script{Replies: []simulator.Reply{simulator.Reset{}, simulator.Error200{}}, Answer: "forty-two"})
	defer provider.Close()

	p := policy.Patient()
	p.Backoff.Steps = []time.Duration{time.Millisecond} // the example is in a hurry
	g, err := gateway.New(gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "openai", API: "openai", Base: &url.URL{Scheme: "http", Host: "provider.test"}}},
		Policy:    p,
		Base:      provider.Transport(), // an http.Transport where the provider is a real one
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	server := httptest.NewServer(g)
	defer server.Close()

	resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, strings.Contains(string(body), "forty-two"), resp.Header.Get("X-Ridethrough-Retries"))
	// Output: 200 OK true 2
}

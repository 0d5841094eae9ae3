package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// A gateway is an http.Handler: here in front of a provider that resets the
// first connection and then sends an error inside a 200.
func ExampleGateway() {
	provider := simulator.New(simulator.Script{Replies: []simulator.Reply{simulator.Reset, simulator.Error200}, Answer: "forty-two"})
	defer provider.Close()

	p := policy.Patient()
	p.Backoff.Steps = []time.Duration{time.Millisecond} // for a short example
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

// newExample returns a gateway whose provider refuses every request, and a
// request that waits there.
func newExample() (g *gateway.Gateway, waits func() gateway.Wait, done func()) {
	provider := simulator.New(simulator.Script{Then: simulator.Status{Code: 529}})
	g, err := gateway.New(gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "openai", API: "openai", Base: &url.URL{Scheme: "http", Host: "provider.test"}}},
		Policy:    policy.Patient(),
		Base:      provider.Transport(),
	})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(g)
	over := make(chan struct{})
	go func() {
		defer close(over)
		resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	waits = func() gateway.Wait {
		for {
			if all := g.Waits(); len(all) == 1 && all[0].State != "trying" {
				return all[0]
			}
			runtime.Gosched()
		}
	}
	return g, waits, func() { g.Close(); <-over; server.Close(); provider.Close() }
}

// New refuses a configuration with a mistake.
func ExampleNew() {
	_, err := gateway.New(gateway.Config{Upstreams: []gateway.Upstream{{Name: "work", API: "oppenai"}}})
	fmt.Println(err)
	// Output: upstream "work": no API is named "oppenai"; known are anthropic, gemini, openai, cohere, vertex, azure, ollama, lmstudio, bedrock
}

// Use replaces the configuration. A mistake leaves the old one in place.
func ExampleGateway_Use() {
	g, err := gateway.New(gateway.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	work := gateway.Upstream{Name: "work", API: "openai", Base: &url.URL{Scheme: "https", Host: "llm.example.com"}}
	fmt.Println(g.Use(gateway.Config{Upstreams: []gateway.Upstream{work}}))
	fmt.Println(g.Use(gateway.Config{Upstreams: []gateway.Upstream{work, work}}))
	for _, u := range g.Upstreams() {
		fmt.Println(u.Name, u.Base)
	}
	// Output:
	// <nil>
	// upstream "work": the name is used twice
	// work https://llm.example.com
}

// Close ends the requests in progress. Later ones are refused with an error that clients retry.
func ExampleGateway_Close() {
	g, waits, done := newExample()
	defer done()
	waits()
	g.Close()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[]}`)))
	fmt.Println(w.Code, w.Header().Get("Retry-After"))
	// Output: 503 1
}

// An operator sees the requests that wait.
func ExampleGateway_Waits() {
	_, waits, done := newExample()
	defer done()
	w := waits()
	fmt.Println(w.Upstream, w.Model, w.State, w.Fault.Kind, w.Verdict.Wait)
	// Output: openai m waiting overloaded 5s
}

// An operator gives one request up.
func ExampleGateway_Act() {
	g, waits, done := newExample()
	defer done()
	fmt.Println(g.Act(waits().ID, gateway.GiveUp), g.Act(4711, gateway.GiveUp))
	// Output: true false
}

// An operator pauses an upstream.
func ExampleGateway_ActOn() {
	g, _, done := newExample()
	defer done()
	fmt.Println(g.ActOn("openai", gateway.Pause), g.ActOn("none", gateway.Pause))
	// Output: true false
}

func ExampleGateway_Upstreams() {
	g, _, done := newExample()
	defer done()
	for _, u := range g.Upstreams() {
		fmt.Println(u.Name, u.API, u.Base)
	}
	// Output: openai openai http://provider.test
}

// OnEvent is called with each event of a request; an agent's turns have the same events.
func ExampleEvent() {
	provider := simulator.New(simulator.Script{Replies: []simulator.Reply{simulator.Status{Code: 529}}})
	defer provider.Close()
	p := policy.Patient()
	p.Backoff.Steps = []time.Duration{time.Millisecond} // for a short example
	g, err := gateway.New(gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "openai", API: "openai", Base: &url.URL{Scheme: "http", Host: "provider.test"}}},
		Policy:    p,
		Base:      provider.Transport(),
		OnEvent: func(e gateway.Event) {
			switch event := e.Event.(type) {
			case turn.Retry:
				fmt.Println("try", event.Run.Tries, "failed:", event.Fault.Kind)
			case turn.Recovered:
				fmt.Println(e.Call.Upstream, "answers after", event.Retries, "retry")
			case turn.Sealed:
				fmt.Println(event.Status, e.Status)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[]}`)))
	// Output:
	// try 1 failed: overloaded
	// openai answers after 1 retry
	// done 200
}

// WaitSockets is called behind Drain and http.Server.Shutdown.
func ExampleGateway_WaitSockets() {
	g, err := gateway.New(gateway.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fmt.Println(g.WaitSockets(ctx))
	// Output: <nil>
}

// The mistakes of a configuration name the upstream and the field.
func ExampleConfigError() {
	err := gateway.Config{Upstreams: []gateway.Upstream{{Name: "work", API: "openai", Fallback: []gateway.Fallback{{To: "spare"}}}}}.Check()
	if mistake, ok := errors.AsType[*gateway.ConfigError](err); ok {
		fmt.Println(mistake.Upstream, mistake.Field, mistake.Unwrap())
	}
	// Output: work fallback.0 fallback to "spare": no upstream has that name
}

// Drain answers the requests that wait with an error that clients retry.
func ExampleGateway_Drain() {
	g, waits, done := newExample()
	defer done()
	waits()
	g.Drain()
	for len(g.Waits()) > 0 {
		runtime.Gosched()
	}
	fmt.Println("no request waits")
	// Output: no request waits
}

// Check returns all mistakes at once.
func ExampleConfig_Check() {
	c := gateway.Config{Upstreams: []gateway.Upstream{
		{Name: "work", API: "openai", Fallback: []gateway.Fallback{{To: "spare"}}},
		{Name: "v1", API: "anthropic", Limits: &gateway.Limits{Idle: -1}},
	}}
	fmt.Println(c.Check())
	// Output:
	// upstream "v1": want a name of lower-case letters, digits, '-', '.' and '_' that begins with a letter and is none of v1, v1beta, v1beta1, v2, api, model and projects
	// upstream "v1": a bound is negative
	// upstream "work": fallback to "spare": no upstream has that name
}

func ExampleDefaults() {
	for _, u := range gateway.Defaults() {
		fmt.Println(u.Name, u.Base)
	}
	// Output:
	// anthropic https://api.anthropic.com
	// gemini https://generativelanguage.googleapis.com
	// openai https://api.openai.com
	// cohere https://api.cohere.com
	// vertex https://aiplatform.googleapis.com
	// ollama http://127.0.0.1:11434
	// lmstudio http://127.0.0.1:1234
	// bedrock https://bedrock-runtime.us-east-1.amazonaws.com
}

func ExampleDefaultLimits() {
	l := gateway.DefaultLimits()
	fmt.Println(l.Connect, l.FirstByte, l.Content, l.Idle)
	// Output: 10s 10m0s 10m0s 5m0s
}

func ExampleAPIs() {
	fmt.Println(gateway.APIs())
	// Output: [anthropic gemini openai cohere vertex azure ollama lmstudio bedrock]
}

func ExampleCheckBase() {
	fmt.Println(gateway.CheckBase(&url.URL{Scheme: "https", Host: "api.openai.com", RawQuery: "key=secret"}))
	// Output: a base URL has no user, query or fragment; credentials are the client's, or a key of the upstream
}

package sdk_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// fixture is a provider in memory and the endpoints that reach it.
type fixture struct {
	t        *testing.T
	provider *simulator.Provider
	base     http.RoundTripper // reaches the provider
	begun    time.Time
	asked    atomic.Int64 // requests that an SDK has made
	raw      bytes.Buffer // the responses
}

// newFixture starts a provider inside the test's bubble and ends it with the test.
func newFixture(t *testing.T, script simulator.Script) *fixture {
	w := &fixture{t: t, provider: simulator.New(script), begun: time.Now()}
	w.base = w.provider.Transport()
	t.Cleanup(func() { _ = w.provider.Close() })
	return w
}

// direct is a endpoint with nothing between the SDK and the provider.
func (w *fixture) direct() endpoint {
	return endpoint{url: "http://provider.test", client: w.countingClient(w.base)}
}

// transport is a endpoint over package transport.
func (w *fixture) transport(p policy.Policy) endpoint {
	t := &transport.Transport{
		Base: w.base, Retry: retry.Retrier{Policy: p},
		Limits: transport.Limits{FirstByte: time.Minute, Idle: time.Minute},
	}
	return endpoint{url: "http://provider.test", client: w.countingClient(t)}
}

// gateway is a endpoint in front of a gateway.
func (w *fixture) gateway(p policy.Policy) endpoint {
	pipe := simulator.NewPipe()
	upstream := &url.URL{Scheme: "http", Host: "provider.test"}
	server := &http.Server{Handler: newGateway(w.t, gateway.Config{
		Upstreams: allUpstreams(upstream),
		Policy:    p,
		Base:      w.base,
	})}
	done := make(chan struct{})
	go func() { _ = server.Serve(pipe); close(done) }()
	dials := &http.Transport{DialContext: pipe.DialContext, DialTLSContext: pipe.DialContext} // https is without TLS too
	w.t.Cleanup(func() {
		dials.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return endpoint{url: "http://gateway.test", client: w.countingClient(dials)}
}

// allUpstreams puts each API at one address, and allows a minute of silence.
func allUpstreams(base *url.URL) []gateway.Upstream {
	all := append(gateway.Defaults(), gateway.Upstream{Name: "azure", API: "azure"})
	for i := range all {
		all[i].Base, all[i].Limits = base, &gateway.Limits{FirstByte: time.Minute, Idle: time.Minute}
	}
	return all
}

// newGateway makes a gateway whose configuration is right.
func newGateway(t *testing.T, c gateway.Config) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(c)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return g
}

// ways lead an SDK to a provider through its outages.
var ways = []struct {
	name string
	to   func(*fixture, policy.Policy) endpoint
}{
	{"gateway", (*fixture).gateway},
	{"transport", (*fixture).transport},
}

// countingClient returns a client that counts its requests and records the responses.
func (w *fixture) countingClient(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		w.asked.Add(1)
		resp, err := next.RoundTrip(req)
		if err == nil {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(resp.Body, &w.raw), resp.Body}
		}
		return resp, err
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// took is the time since the start of the test.
func (w *fixture) took() time.Duration { return time.Since(w.begun) }

// tries counts what the provider was asked, refused connections included.
func (w *fixture) tries() int { return len(w.provider.Requests()) }

// check compares what the SDK and the provider have seen with what is expected:
// one request of the SDK, and tries with the same body.
func (w *fixture) check(tries int, took time.Duration) {
	w.t.Helper()
	if n := w.asked.Load(); n != 1 || w.tries() != tries || w.took() != took {
		w.t.Errorf("the SDK made %d requests; %d tries in %v, want %d in %v: %s", n, w.tries(), w.took(), tries, took, w.outcomes())
	}
	bodies := map[string]bool{}
	for _, r := range w.provider.Requests() {
		if r.Method != "" { // a refused connection carries none
			bodies[string(r.Body)] = true
		}
	}
	if len(bodies) > 1 {
		w.t.Errorf("the provider was sent %d different bodies: %v", len(bodies), bodies)
	}
}

// outcomes lists what the provider did to each try.
func (w *fixture) outcomes() string {
	var all []string
	for _, r := range w.provider.Requests() {
		all = append(all, r.Outcome)
	}
	return strings.Join(all, " ")
}

// script returns the replies in words.
func script(t *testing.T, words string) simulator.Script {
	t.Helper()
	replies, err := simulator.Parse(words)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return simulator.Script{Replies: replies}
}

// outage is a provider that is overloaded that long; 0: for ever.
func outage(d time.Duration) simulator.Script {
	return simulator.Script{Outages: []simulator.Outage{{To: d}}}
}

// healthy is the answer to a call without faults, except for the ids that differ
// answer from another.
func healthy(ctx context.Context, t *testing.T, c call) answer {
	t.Helper()
	a, err := c.ask(ctx, newFixture(t, simulator.Script{}).direct())
	if err != nil || a.ID == "" || a.Stop == "" || a.Out == 0 || a.Text != "The provider is well again, and this is all that it has to say." {
		t.Fatalf("healthy provider: answer %+v, error %v", a, err)
	}
	return a.anonymous()
}

// anonymous removes the ids that differ between answers.
func (a answer) anonymous() answer {
	a.ID, a.Created = "", 0
	return a
}

package lab_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// production returns an HTTP client with the transport of a program that uses a
// strategy.
func production(s config.Scenario, how lab.Strategy, base http.RoundTripper) *http.Client {
	t := &transport.Transport{Base: base, Retry: retry.Retrier{Policy: how.Policy}}
	if how.SharesBreaker {
		t.Breakers = &breaker.Set{}
	}
	return &http.Client{Transport: t}
}

// script returns a scenario's outages for the simulator.
func script(s config.Scenario) (script simulator.Script) {
	for _, o := range s.Outages {
		script.Outages = append(script.Outages, simulator.Outage{From: o.From, To: o.From + o.For, Reply: simulator.Status{Code: o.Status}})
	}
	return script
}

// ask sends one request and reads its answer.
func ask(ctx context.Context, client *http.Client, base string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/messages",
		strings.NewReader(`{"model":"model","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "key")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// makeCalls makes each caller's calls at the times at which they began in the lab.
func makeCalls(ctx context.Context, t *testing.T, calls [][]time.Duration, client *http.Client, base string) {
	start := time.Now()
	var running sync.WaitGroup
	for _, own := range calls {
		running.Go(func() {
			for _, at := range own {
				if err := retry.Sleep(ctx, at-time.Since(start)); err != nil {
					t.Errorf("sleep: %v", err)
				}
				if err := ask(ctx, client, base); err != nil {
					t.Errorf("ask: %v", err)
				}
			}
		})
	}
	running.Wait()
}

// atOnce is the time of an answer, which takes none from the simulator in a bubble.
const atOnce = time.Nanosecond

// It compares the lab's virtual time with that of synctest, and its callers with
// HTTP requests through the transport: over hours of outages, every request
// reaches the upstream at the same time.
func TestRun_MatchesProduction(t *testing.T) {
	patient, worker := policy.Patient(), policy.Worker()
	worker.Backoff.Jitter = policy.Jitter{} // the random numbers differ
	worker.Retries = policy.Unlimited
	for _, how := range []lab.Strategy{
		lab.OwnStrategy("patient", patient, false), lab.OwnStrategy("patient", patient, true),
		lab.OwnStrategy("worker", worker, false), lab.OwnStrategy("worker", worker, true),
	} {
		t.Run(how.Name, func(t *testing.T) {
			s := config.Scenario{
				Lasts: 6 * time.Hour, Seed: 7,
				Callers:  config.Callers{Number: 25, Every: 20 * time.Minute},
				Upstream: config.Service{Takes: atOnce, Refuses: atOnce},
				Outages: []config.Outage{
					{Kind: config.Total, From: 40 * time.Minute, For: 90 * time.Minute, Status: 529},
					{Kind: config.Total, From: 4 * time.Hour, For: 11 * time.Minute, Status: 500}, // a fault of the host, in the words of both
				},
			}
			simulated, err := lab.Follow(t.Context(), s, how)
			if err != nil {
				t.Fatalf("follow: %v", err)
			}
			var real []time.Duration
			synctest.Test(t, func(t *testing.T) {
				p := simulator.New(script(s))
				defer p.Close()
				client := production(s, how, p.Transport())
				p.Start()
				makeCalls(t.Context(), t, simulated.Calls, client, "http://provider")
				for _, r := range p.Requests() {
					real = append(real, r.At)
				}
			})
			compare(t, simulated.Sent, real)
		})
	}
}

// compare checks that both have the same number of requests, at the same times
// within 10 ms.
func compare(t *testing.T, simulated, real []time.Duration) {
	t.Helper()
	slices.Sort(simulated)
	slices.Sort(real)
	if len(simulated) != len(real) {
		t.Errorf("%d requests in the lab, %d in production", len(simulated), len(real))
	}
	for i := range min(len(simulated), len(real)) {
		if d := simulated[i] - real[i]; d.Abs() > 10*time.Millisecond {
			t.Fatalf("request %d of %d: at %v in the lab, at %v in production", i+1, len(real), simulated[i], real[i])
		}
	}
	t.Logf("%d requests at the same moments", len(simulated))
}

// It does the same with a socket and the real clock, with an outage of seconds
// and waits that leave room for a busy machine.
func TestRun_MatchesProductionOnRealClocks(t *testing.T) {
	takesLong(t)
	waits := []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, 7 * time.Second}
	how := lab.OwnStrategy("scaled", policy.Policy{Retries: 9, Backoff: policy.Backoff{Steps: waits}}, false)
	s := config.Scenario{
		Lasts: 200 * time.Millisecond, Seed: 3,
		Callers:  config.Callers{Number: 8, Every: 40 * time.Millisecond},
		Upstream: config.Service{Takes: time.Millisecond, Refuses: time.Millisecond},
		Outages:  []config.Outage{{Kind: config.Total, For: 5 * time.Second, Status: 529}},
	}
	simulated, err := lab.Follow(t.Context(), s, how)
	if err != nil {
		t.Fatalf("follow: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p := simulator.New(script(s))
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.Serve(l) })
	defer serving.Wait()
	defer p.Close()
	client := production(s, how, http.DefaultTransport)
	defer client.CloseIdleConnections()
	p.Start()
	makeCalls(t.Context(), t, simulated.Calls, client, "http://"+l.Addr().String())
	if got := len(p.Requests()); got != len(simulated.Sent) {
		t.Errorf("%d requests in the lab, %d in production", len(simulated.Sent), got)
	}
	for i, n := range simulated.Tries {
		if want := 4 * len(simulated.Calls[i]); n != want {
			t.Errorf("caller %d: %d tries in the lab, want %d", i, n, want)
		}
	}
}

package agent_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/turn"
)

// chain is an agent's client, gateways in a row, and a provider, all in memory.
type chain struct {
	t        *testing.T
	provider *simulator.Provider
	gateways []*link // the first is the agent's
	client   *http.Client
}

// link is a gateway that may be replaced, as by a restart.
type link struct {
	atomic.Pointer[gateway.Gateway]
	config gateway.Config
}

func (l *link) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.Load().ServeHTTP(w, r) }

// restart replaces the gateway: its requests end, and nothing of it is remembered.
func (l *link) restart(t *testing.T) {
	g, err := gateway.New(l.config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if before := l.Swap(g); before != nil {
		before.Close()
	}
}

// newChain starts a gateway for each policy.
func newChain(t *testing.T, script simulator.Script, policies ...policy.Policy) *chain {
	c := &chain{t: t, provider: simulator.New(script), gateways: make([]*link, len(policies))}
	var to http.RoundTripper = c.provider.Transport()
	for i := len(policies) - 1; i >= 0; i-- {
		to = c.start(i, policies[i], to)
	}
	c.client = &http.Client{Transport: &transport.Transport{Base: to, Limits: transport.Limits{FirstByte: 10 * time.Minute, Idle: time.Minute}}}
	t.Cleanup(func() { _ = c.provider.Close() })
	return c
}

// start starts a gateway, and returns what reaches it.
func (c *chain) start(i int, p policy.Policy, to http.RoundTripper) http.RoundTripper {
	upstreams := gateway.Defaults()
	for i := range upstreams {
		upstreams[i].Base = &url.URL{Scheme: "http", Host: "upstream.test"}
	}
	c.gateways[i] = &link{config: gateway.Config{Upstreams: upstreams, Policy: p, Base: to}}
	c.gateways[i].restart(c.t)
	pipe := simulator.NewPipe()
	server := &http.Server{Handler: c.gateways[i]}
	done := make(chan struct{})
	go func() { _ = server.Serve(pipe); close(done) }()
	reach := &http.Transport{DialContext: pipe.DialContext}
	c.t.Cleanup(func() {
		reach.CloseIdleConnections()
		_ = server.Close()
		<-done
		time.Sleep(time.Second) // net/http lingers half of that on a connection that it has cut
	})
	return reach
}

// claude returns a model at the first gateway.
func (c *chain) claude() llm.Model {
	return provider.Anthropic(provider.Config{Model: "claude-sonnet", Key: "k", Client: c.client, BaseURL: "http://gateway.test"})
}

// asked returns how often the provider was asked.
func (c *chain) asked() int { return len(c.provider.Requests()) }

// refusals is a provider that refuses some requests before it answers.
func refusals(t *testing.T, words string) simulator.Script {
	all, err := simulator.Parse(words)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return simulator.Script{Replies: all}
}

// faults returns the lines about faults, and the last one.
func (p played) faults() string {
	var all []string
	for _, line := range p.lines {
		word, _, _ := strings.Cut(line, " ")
		switch word {
		case "retry", "waiting", "recovered", "switched", "error", "sealed":
			line, _, _ = strings.Cut(line, "ms, ") // tokens
			all = append(all, line)
		}
	}
	return strings.Join(all, "\n")
}

// wantFaults compares the lines about faults.
func (p played) wantFaults(t *testing.T, want string) {
	t.Helper()
	if p.err != nil {
		t.Errorf("the run ended in %v", p.err)
	}
	if got, want := p.faults(), strings.Join(lines(want), "\n"); got != want {
		t.Errorf("events about faults:\n%s\nwant:\n%s", got, want)
	}
}

func TestHold_WaitOfTheGatewayIsTheTurns(t *testing.T) {
	models := map[string]func(*http.Client) llm.Model{
		"anthropic": func(c *http.Client) llm.Model {
			return provider.Anthropic(provider.Config{Model: "m", Key: "k", Client: c, BaseURL: "http://gateway.test"})
		},
		"openai chat": func(c *http.Client) llm.Model {
			return provider.OpenAI(provider.Config{Model: "m", Key: "k", Client: c, BaseURL: "http://gateway.test/v1", API: provider.Chat})
		},
		"openai responses": func(c *http.Client) llm.Model {
			return provider.OpenAI(provider.Config{Model: "m", Key: "k", Client: c, BaseURL: "http://gateway.test/v1", API: provider.Responses})
		},
		"gemini": func(c *http.Client) llm.Model {
			return provider.Gemini(provider.Config{Model: "m", Key: "k", Client: c, BaseURL: "http://gateway.test"})
		},
		"ollama": func(c *http.Client) llm.Model {
			return provider.Ollama(provider.Config{Model: "m", Client: c, BaseURL: "http://gateway.test"})
		},
	}
	for name, model := range models {
		for _, whole := range []bool{false, true} {
			for _, gateways := range []int{1, 2} {
				synctest.Test(t, func(t *testing.T) {
					policies := []policy.Policy{policy.Patient(), policy.Patient()}[:gateways]
					c := newChain(t, refusals(t, "529,529,529,529"), policies...)
					a := agent.Agent{Model: model(c.client), NoStream: whole, Retry: retry.Retrier{Policy: policy.Interactive()}}
					p := play(t.Context(), a, turn.State{}, turn.Begin("t1", "hello")...)
					got := strings.ReplaceAll(p.faults(), "HTTP 529: Overloaded", "529")
					for _, want := range []string{"retry 0 in 5s: ", "retry 1 in 10s: ", "retry 2 in 30s: ", "retry 3 in 1m0s: ", "waiting 3: 3", "recovered after 4, 1m45s", "sealed done: 4 retries, 105000"} {
						if !strings.Contains(got, want) {
							t.Errorf("%s, whole %t, %d gateways: events about faults:\n%s\nwant one with %q", name, whole, gateways, got, want)
						}
					}
					if n := strings.Count(got, "retry "); n != 4 || c.asked() != 5 || p.err != nil {
						t.Errorf("%s, whole %t, %d gateways: %d retries, %d requests, %v; want 4, 5 and no error", name, whole, gateways, n, c.asked(), p.err)
					}
				})
			}
		}
	}
}

func TestHold_LastWordOfTheGatewayEndsTheTurn(t *testing.T) {
	for _, gateways := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			few := policy.Policy{Retries: 2, Backoff: policy.Backoff{Steps: []time.Duration{20 * time.Second}}}
			policies := []policy.Policy{policy.Patient(), few} // the last one decides
			c := newChain(t, simulator.Script{Outages: []simulator.Outage{{To: time.Hour}}}, policies[2-gateways:]...)
			p := play(t.Context(), agent.Agent{Model: c.claude(), Retry: patient()}, turn.State{}, turn.Begin("t1", "hello")...)
			end, ok := p.events[len(p.events)-2].(turn.Error)
			if !ok || end.Retries != 2 || end.Waited != 40*time.Second || !strings.Contains(end.Message, "gave up after 2 retries in 40s") {
				t.Errorf("%d gateways: the turn ended with %+v; want 2 retries, 40s and the gateway's sentence", gateways, p.events[len(p.events)-2])
			}
			if c.asked() != 3 {
				t.Errorf("%d gateways: the provider was asked %d times; want 3", gateways, c.asked())
			}
		})
	}
}

func TestHold_PolicyOfTheAgentBoundsIt(t *testing.T) {
	for _, policies := range [][]policy.Policy{{policy.Patient()}, {policy.Patient(), policy.Patient()}} {
		synctest.Test(t, func(t *testing.T) {
			c := newChain(t, simulator.Script{Outages: []simulator.Outage{{To: 9 * time.Hour}}}, policies...)
			minute := policy.Patient()
			minute.MaxWait = time.Minute
			begun := time.Now()
			p := play(t.Context(), agent.Agent{Model: c.claude(), Retry: retry.Retrier{Policy: minute}}, turn.State{}, turn.Begin("t1", "hello")...)
			if took := time.Since(begun); took != 45*time.Second || c.asked() != 4 {
				t.Errorf("%d gateways: the turn took %v and %d requests; want 45s, as the next wait does not fit, and 4", len(policies), took, c.asked())
			}
			if got := p.faults(); !strings.Contains(got, "the request allows 1m of waiting") {
				t.Errorf("%d gateways: events about faults:\n%s\nwant the bound in the error", len(policies), got)
			}
		})
	}
}

func TestHold_RestartOfTheGatewayLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, simulator.Script{Outages: []simulator.Outage{{To: 9 * time.Hour}}}, policy.Patient())
		limited := policy.Patient()
		limited.MaxWait = time.Minute
		time.AfterFunc(40*time.Second, func() { c.gateways[0].restart(t) })
		p := play(t.Context(), agent.Agent{Model: c.claude(), Retry: retry.Retrier{Policy: limited, Rand: func() float64 { return 0.5 }}}, turn.State{}, turn.Begin("t1", "hello")...)
		p.wantFaults(t, `
			retry 0 in 5s: HTTP 529: Overloaded
			retry 1 in 10s: HTTP 529: Overloaded
			retry 2 in 30s: HTTP 529: Overloaded
			retry 0 in 5s: HTTP 503: ridethrough: service unavailable, connection reset: the gateway is shutting down; try again
			retry 0 in 5s: HTTP 529: Overloaded
			retry 1 in 10s: HTTP 529: Overloaded
			error of anthropic/claude-sonnet, overloaded: HTTP 529: ridethrough: gave up after 2 retries in 15s: HTTP 529: Overloaded (the request allows 15s of waiting) (6 retries, 60000ms)
			sealed failed: 6 retries, 60000`)
	})
}

func TestHold_RetryNowReachesTheGateway(t *testing.T) {
	for _, gateways := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			c := newChain(t, refusals(t, "529,529,529,529"), []policy.Policy{policy.Patient(), policy.Patient()}[:gateways]...)
			a := agent.Agent{Model: c.claude(), Retry: patient(), OnHold: func(retryNow func(context.Context) error) {
				if retryNow != nil {
					time.AfterFunc(3*time.Second, func() {
						if err := retryNow(t.Context()); err != nil {
							t.Errorf("%d gateways: retry now: %v", gateways, err)
						}
					})
				}
			}}
			begun := time.Now()
			p := play(t.Context(), a, turn.State{}, turn.Begin("t1", "hello")...)
			synctest.Wait() // the reply to the last command may come after the answer
			if took := time.Since(begun); took != 15*time.Second || c.asked() != 5 {
				t.Errorf("%d gateways: the turn took %v and %d requests:\n%s\nwant 15s, as the waits go on, and 5", gateways, took, c.asked(), p.faults())
			}
		})
	}
}

func TestHold_StopReachesTheGateway(t *testing.T) {
	for _, gateways := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			c := newChain(t, simulator.Script{Outages: []simulator.Outage{{To: time.Hour}}}, []policy.Policy{policy.Patient(), policy.Patient()}[:gateways]...)
			ctx, stop := context.WithCancelCause(t.Context())
			time.AfterFunc(30*time.Second, func() { stop(errors.New("stopped")) })
			play(ctx, agent.Agent{Model: c.claude(), Retry: patient()}, turn.State{}, turn.Begin("t1", "hello")...).wantFaults(t, `
				retry 0 in 5s: HTTP 529: Overloaded
				retry 1 in 10s: HTTP 529: Overloaded
				retry 2 in 30s: HTTP 529: Overloaded
				sealed aborted: 2 retries, 30000`)
			synctest.Wait()
			for i, g := range c.gateways {
				if n := len(g.Load().Waits()); n != 0 {
					t.Errorf("%d gateways: %d requests wait at gateway %d after the stop; want none", gateways, n, i)
				}
			}
		})
	}
}

func TestHold_PatienceEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, simulator.Script{Outages: []simulator.Outage{{To: time.Hour}}}, policy.Patient())
		a := agent.Agent{
			Model: c.claude(), Fallback: []llm.Model{llmtest.New(small, llmtest.Says("hi"))},
			Patience: 20 * time.Second, Retry: patient(),
		}
		play(t.Context(), a, turn.State{}, turn.Begin("t1", "hello")...).wantFaults(t, `
			retry 0 in 5s: HTTP 529: Overloaded
			retry 1 in 10s: HTTP 529: Overloaded
			retry 2 in 5s: HTTP 529: Overloaded
			switched from anthropic/claude-sonnet to other/small: HTTP 529: Overloaded
			sealed done: 3 retries, 20000`)
		synctest.Wait()
		if n := len(c.gateways[0].Load().Waits()); n != 0 {
			t.Errorf("%d requests wait at the gateway after the switch; want none", n)
		}
	})
}

func TestHold_PermanentFaultIsUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, refusals(t, "529,529,401"), policy.Patient())
		p := play(t.Context(), agent.Agent{Model: c.claude(), Retry: patient()}, turn.State{}, turn.Begin("t1", "hello")...)
		if got := p.faults(); !strings.Contains(got, "anthropic/claude-sonnet, auth: HTTP 401: ") || c.asked() != 3 {
			t.Errorf("%d requests, events about faults:\n%s\nwant 3 and the provider's 401", c.asked(), got)
		}
	})
}

// TestHold_OperatorOfTheFirstGatewayReachesTheSecond is about commands on a request that another gateway holds.
func TestHold_OperatorOfTheFirstGatewayReachesTheSecond(t *testing.T) {
	for name, tt := range map[string]struct {
		act   func(*gateway.Gateway)
		asked int
		end   string
	}{
		"retry now":           {func(g *gateway.Gateway) { g.Act(1, gateway.RetryNow) }, 4, "sealed done"},
		"retry now, upstream": {func(g *gateway.Gateway) { g.ActOn("anthropic", gateway.RetryNow) }, 4, "sealed done"},
		"give up":             {func(g *gateway.Gateway) { g.Act(1, gateway.GiveUp) }, 3, "given up by command"},
		"give up, upstream":   {func(g *gateway.Gateway) { g.ActOn("anthropic", gateway.GiveUp) }, 3, "given up by command"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newChain(t, simulator.Script{Outages: []simulator.Outage{{To: 19 * time.Second}}}, policy.Patient(), policy.Patient())
			time.AfterFunc(20*time.Second, func() {
				if waits := c.gateways[0].Load().Waits(); len(waits) != 1 || waits[0].State != "waiting" || waits[0].Verdict.Wait != 30*time.Second {
					t.Errorf("%s: the first gateway lists %+v; want the wait of 30 s at the second", name, waits)
				}
				tt.act(c.gateways[0].Load())
			})
			begun := time.Now()
			p := play(t.Context(), agent.Agent{Model: c.claude(), Retry: patient()}, turn.State{}, turn.Begin("t1", "hello")...)
			if took := time.Since(begun); took > 21*time.Second || c.asked() != tt.asked || !strings.Contains(p.faults(), tt.end) {
				t.Errorf("%s: after %v and %d requests:\n%s\nwant %q at 20s, after %d requests", name, took, c.asked(), p.faults(), tt.end, tt.asked)
			}
			synctest.Wait()
			if n := len(c.gateways[1].Load().Waits()); n != 0 {
				t.Errorf("%s: %d requests wait at the second gateway; want none", name, n)
			}
		})
	}
}

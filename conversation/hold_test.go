package conversation_test

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/transport"
	"github.com/ridethrough/ridethrough/wire"
)

// heldModel returns a model at a gateway, whose provider is overloaded for that long.
func heldModel(t *testing.T, down time.Duration) (llm.Model, *simulator.Provider) {
	upstream := simulator.New(simulator.Script{Outages: []simulator.Outage{{To: down}}})
	g, err := gateway.New(gateway.Config{Policy: policy.Patient(), Base: upstream.Transport(), Upstreams: []gateway.Upstream{
		{Name: "anthropic", API: "anthropic", Base: &url.URL{Scheme: "http", Host: "provider.test"}},
	}})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	pipe := simulator.NewPipe()
	server := &http.Server{Handler: g}
	done := make(chan struct{})
	go func() { _ = server.Serve(pipe); close(done) }()
	reach := &http.Transport{DialContext: pipe.DialContext}
	t.Cleanup(func() {
		reach.CloseIdleConnections()
		_ = server.Close()
		<-done
		_ = upstream.Close()
		time.Sleep(time.Second) // net/http lingers half of that on a connection that it has cut
	})
	client := &http.Client{Transport: &transport.Transport{Base: reach}}
	return provider.Anthropic(provider.Config{Model: "large", Provider: "acme", Key: "k", Client: client, BaseURL: "http://gateway.test"}), upstream
}

// firstEvent returns the first event that a reader gets behind what is recorded.
func firstEvent(t *testing.T, r *conversation.Runner, id string) string {
	t.Helper()
	for e, err := range r.Attach(t.Context(), id, 1<<40) {
		if err != nil {
			t.Fatalf("attach: %v", err)
		}
		if wire.Type(e.Body) != "reset" {
			return say(e)
		}
	}
	return ""
}

func TestHold_WaitOfAGatewayIsShownListedAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		model, provider := heldModel(t, 21*time.Second)
		h.model = model
		runner, _ := h.runner()
		c := h.create(runner)
		seen := make(chan []string, 1)
		go func() { seen <- follow(t, runner, c, 0, 1) }()
		h.say(runner, c, "hello")
		time.Sleep(20 * time.Second) // in the third wait, of 30 s, 5 s after its beginning
		if waits, n := runner.Waits(9); n != 1 || waits[0].Conversation != c || waits[0].Verdict.Wait != 30*time.Second {
			t.Errorf("%d waits: %+v; want the one of 30 s", n, waits)
		}
		if got, want := firstEvent(t, runner, c), "retry 2 in 25s: HTTP 529: Overloaded"; got != want {
			t.Errorf("a reader that comes late first gets %q; want %q", got, want)
		}
		time.Sleep(2 * time.Second)
		if err := runner.RetryNow(t.Context(), c); err != nil {
			t.Fatalf("retry now: %v", err)
		}
		began := time.Now()
		got := <-seen
		if took := time.Since(began); took > time.Second || len(provider.Requests()) != 4 {
			t.Errorf("the answer came %v after the command, with %d requests; want at once and 4", took, len(provider.Requests()))
		}
		var faults []string
		for _, line := range got {
			if line[0] == 'r' || line[0] == 's' {
				faults = append(faults, line)
			}
		}
		expect(t, faults, `
			retry 0 in 5s: HTTP 529: Overloaded
			retry 1 in 10s: HTTP 529: Overloaded
			retry 2 in 30s: HTTP 529: Overloaded
			recovered after 3
			sealed done, 3 retries, 22000ms`)
		if _, n := runner.Waits(9); n != 0 {
			t.Errorf("%d turns wait after the answer; want none", n)
		}
	})
}

// A turn whose request a gateway holds moves as well: the gateway is left, and the other model asked.
func TestMove_LeavesTheGatewayThatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		model, provider := heldModel(t, time.Hour)
		h.model = model
		small := h.twoModels()
		runner, _ := h.runner()
		c := h.create(runner)
		seen := make(chan []string, 1)
		go func() { seen <- follow(t, runner, c, 0, 1) }()
		h.say(runner, c, "hello")
		time.Sleep(20 * time.Second) // in the third wait
		began, asked := time.Now(), len(provider.Requests())
		if err := runner.Move(t.Context(), c, "acme/small"); err != nil {
			t.Fatalf("move: %v", err)
		}
		got := <-seen
		if took := time.Since(began); took > time.Second || len(small.Requests()) != 1 || !containsLine(got, "model: from small") || !containsLine(got, "sealed done") {
			t.Errorf("after %v, with %d requests to the other model: got %q, want its answer at once", took, len(small.Requests()), got)
		}
		time.Sleep(time.Hour)
		if n := len(provider.Requests()); n != asked {
			t.Errorf("requests of the gateway after the move: got %d more, want none", n-asked)
		}
		if _, n := runner.Waits(9); n != 0 {
			t.Errorf("%d turns wait after the answer; want none", n)
		}
	})
}

// A try that a person asks for costs none of the gateway's attempts. Its failure is reported at once.
func TestHold_RetryNowCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		model, provider := heldModel(t, 40*time.Second)
		h.model = model
		runner, _ := h.runner()
		c := h.create(runner)
		seen := make(chan []string, 1)
		go func() { seen <- follow(t, runner, c, 0, 1) }()
		h.say(runner, c, "hello")
		time.Sleep(20 * time.Second) // in the third wait, which ends after 45 s
		for n := range 3 {
			asked := len(provider.Requests())
			if err := runner.RetryNow(t.Context(), c); err != nil {
				t.Fatalf("retry now: %v", err)
			}
			time.Sleep(time.Second)
			if waits, _ := runner.Waits(9); len(waits) != 1 || waits[0].Run.Tries != 3 || len(provider.Requests()) != asked+1 {
				t.Errorf("after %d commands: waits %+v, %d more requests, want the third wait and one", n+1, waits, len(provider.Requests())-asked)
			}
		}
		got := <-seen
		told := 0
		for _, line := range got {
			if line == "provider-waiting" {
				told++
			}
		}
		if told < 3 || containsLine(got, "retry 3") || !containsLine(got, "sealed done, 3 retries") {
			t.Errorf("events: got %q, want each failure told and no retry more", got)
		}
	})
}

package gateway_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// account is a tenant with a number of places.
type account struct {
	places atomic.Int64
	used   []ratelimit.Charged
}

func (a *account) Name() string { return "alice" }

func (a *account) Hold() (release func()) {
	if a.places.Add(-1) < 0 {
		a.places.Add(1)
		return nil
	}
	return func() { a.places.Add(1) }
}

func (a *account) Used(u ratelimit.Charged) { a.used = append(a.used, u) }

// newTenantHarness returns a harness whose requests are all on one account. Each try has limits.
func newTenantHarness(t *testing.T, a *account, l gateway.Limits, script simulator.Script) *harness {
	provider := simulator.New(script)
	t.Cleanup(func() { _ = provider.Close() })
	upstreams := everything(address("provider.test"))
	for i := range upstreams {
		upstreams[i].Limits = &l
	}
	w := newHarnessIn(t, gateway.WithTenant(t.Context(), a), gateway.Config{
		Upstreams: upstreams, Policy: policy.Patient(), Base: provider.Transport(),
	})
	w.provider = provider
	return w
}

func TestTenant_NoPlaceToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{}
		a.places.Store(1)
		w := newTenantHarness(t, a, gateway.Limits{}, outage(time.Minute))
		held := make(chan string, 1)
		go func() { _, text, _ := w.get(messages, claude); held <- text }()
		time.Sleep(2 * time.Second)
		for _, tt := range []struct{ path, body, want string }{
			{messages, claude, `"type":"rate_limit_error"`},
			{chat, gpt, `"type":"rate_limit_`},
			{google, bodyOf(google), `RESOURCE_EXHAUSTED`},
		} {
			resp, text, err := w.get(tt.path, tt.body)
			if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "30" || !strings.Contains(text, tt.want) || !strings.Contains(text, "as many requests wait for their provider as the token permits") {
				t.Errorf("%s with no place left: got %d, Retry-After %q, %s, %v; want 429 with %s", tt.path, resp.StatusCode, resp.Header.Get("Retry-After"), text, err, tt.want)
			}
		}
		if text := <-held; !strings.Contains(text, "message_stop") {
			t.Errorf("the request that waits: got %q, want its answer", text)
		}
		if n := a.places.Load(); n != 1 {
			t.Errorf("after all: %d places are free, want 1", n)
		}
	})
}

// Where the headers are out, the refusal is an event of the stream.
func TestTenant_NoPlaceAfterTheHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{}
		w := newTenantHarness(t, a, gateway.Limits{FirstByte: 20 * time.Second}, simulator.Script{Then: simulator.Silence{}})
		resp, text, _ := w.get(messages, claude)
		if resp.StatusCode != 200 || !strings.Contains(text, "event: error") || !strings.Contains(text, "overloaded_error") || !strings.Contains(text, "as the token permits") {
			t.Errorf("got %d %q, want a 200 with an error event that every client of Anthropic knows", resp.StatusCode, text)
		}
	})
}

func TestTenant_IsChargedOnceForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &account{}
		a.places.Store(1)
		w := newTenantHarness(t, a, gateway.Limits{}, outage(20*time.Second))
		if _, text, err := w.get(messages, claude); err != nil || !strings.Contains(text, "message_stop") {
			t.Fatalf("got %q, %v, want an answer", text, err)
		}
		synctest.Wait()
		if len(a.used) != 1 || a.used[0].Input == 0 || a.used[0].Output == 0 {
			t.Errorf("after 1 answer: used %+v, want one entry with input and output", a.used)
		}
	})
}

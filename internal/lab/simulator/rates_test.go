package simulator_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// What is allowed in a minute comes back little by little, is stated in each answer, and refused beyond it.
func TestProvider_StatesItsRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates, err := simulator.ParseRates("requests:3, tokens:6k")
		if err != nil {
			t.Fatalf("ParseRates: %v", err)
		}
		p := simulator.New(simulator.Script{Rates: rates})
		defer p.Close()
		ask := func(path, body string) string {
			resp, err := p.Client().Post("http://provider.test"+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatalf("POST %s: %v", path, err)
			}
			resp.Body.Close()
			left := func(name string) string {
				h := resp.Header
				if v := h.Get("x-ratelimit-remaining-" + name); v != "" {
					return v + " of " + h.Get("x-ratelimit-limit-"+name) + " in " + h.Get("x-ratelimit-reset-"+name)
				}
				return h.Get("anthropic-ratelimit-"+name+"-remaining") + " of " + h.Get("anthropic-ratelimit-"+name+"-limit") + " at " + h.Get("anthropic-ratelimit-"+name+"-reset")
			}
			return fmt.Sprintf("%d %s, %s, %s", resp.StatusCode, left("requests"), left("tokens"), resp.Header.Get("Retry-After"))
		}
		const chat, claude = "/v1/chat/completions", "/v1/messages"
		body := `{"model":"m","max_tokens":2000,"messages":[{"role":"user","content":"Hi"}]}`
		for i, step := range []struct{ path, want string }{
			{chat, "200 2 of 3 in 20s, 3981 of 6000 in 20.19s, "},
			{chat, "200 1 of 3 in 40s, 1962 of 6000 in 40.38s, "},
			{chat, "429 1 of 3 in 40s, 1962 of 6000 in 40.38s, 1"},
			{claude, "200 0 of 3 at 2000-01-01T00:01:00Z, 1929 of 6000 at 2000-01-01T00:00:41Z, "},
		} {
			if got := ask(step.path, body); got != step.want {
				t.Errorf("request %d: %s, want %s", i, got, step.want)
			}
		}
		time.Sleep(20 * time.Second)
		if got, want := ask(chat, body), "200 0 of 3 in 1m0s, 1910 of 6000 in 40.9s, "; got != want {
			t.Errorf("20 s later: %s, want %s", got, want)
		}
	})
}

func TestParseRates(t *testing.T) {
	for _, text := range []string{"tokens", "tokens:", "tokens:0", "tokens:-1", "words:5", "tokens:NaN", "tokens:1e99"} {
		if _, err := simulator.ParseRates(text); err == nil || !strings.Contains(err.Error(), "want a unit") {
			t.Errorf("%q: %v, want an error that says what is wanted", text, err)
		}
	}
	if all, err := simulator.ParseRates(""); err != nil || len(all) != 0 {
		t.Errorf("nothing: %v, %v; want none", all, err)
	}
}

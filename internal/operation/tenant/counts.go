package tenant

import (
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// counts has the metrics by token. Its names come from the file of tokens, never from a client.
type counts struct {
	requests, refused, tokens *metrics.Counters
}

// newCounts adds the metrics of a table.
func newCounts(to *metrics.Registry, t *Table) counts {
	c := counts{
		requests: to.Counters("ridethrough_token_requests_total", "Requests to the APIs, by the name of the client's token.", "token"),
		refused:  to.Counters("ridethrough_token_refused_total", "Requests refused for a limit of the client's token: rpm, tpm or holds.", "token", "limit"),
		tokens:   to.Counters("ridethrough_token_used_tokens_total", "Tokens of answers, as their providers state them, by the name of the client's token. cached: read from a prompt cache and counted apart.", "token", "kind"),
	}
	held := to.Gauges("ridethrough_token_held_requests", "Requests that wait for their provider, by the name of the client's token.", "token")
	to.OnScrape(func(s *metrics.Scrape) {
		for name, n := range t.heldHere() {
			s.Set(held, float64(n), name)
		}
	})
	return c
}

// used counts the tokens of an answer.
func (c *counts) used(token string, used ratelimit.Charged) {
	for kind, n := range map[string]float64{"input": used.Input, "cached": used.Cached, "output": used.Output} {
		if n > 0 {
			c.tokens.With(token, kind).Add(uint64(n))
		}
	}
}

// heldHere returns how many requests of each token wait here.
func (t *Table) heldHere() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := make(map[string]int, len(t.all))
	for name, a := range t.all {
		held[name] = a.held
	}
	return held
}

package telemetry

import (
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
)

// gauges are the current state of the gateway and of conversations. A gauge without a value is omitted.
type gauges struct {
	waiting, held, outage, degraded, model, paused *metrics.Gauges
	firstByte, remaining                           *metrics.Gauges
}

func newGauges(to *metrics.Registry) *gauges {
	gauge := func(name, help string, more ...string) *metrics.Gauges {
		return to.Gauges(namespace+name, help, append([]string{"face", "upstream"}, more...)...)
	}
	return &gauges{
		waiting:   gauge("waiting_requests", "Requests waiting for their next try."),
		held:      gauge("held_requests", "Waiting requests whose client gets keepalives."),
		outage:    gauge("upstream_outage", "1 if nothing of the upstream is answered, otherwise 0."),
		degraded:  gauge("upstream_degraded", "1 if models of the upstream, or a credential, fail while others are answered, otherwise 0."),
		model:     gauge("model_outage", "1 for each model whose last tries have failed; left out: it has no outage.", "model"),
		paused:    gauge("upstream_paused", "1 if an operator has paused the upstream, otherwise 0."),
		firstByte: gauge("first_byte_limit_seconds", "The learned limit on the first byte of an answer, the longest by size of the request.", "model"),
		remaining: gauge("ratelimit_remaining_ratio", "The share that is left of a limit that the upstream states, from 0 to 1, the least of all credentials.", "model", "limit"),
	}
}

// gateway sets the gauges of the gateway. Every upstream has those that are not about a model.
func (g *gauges) gateway(s *metrics.Scrape, b Board, h *history.History, bounded func(upstream, model string) string) {
	now, waiting, held := time.Now(), make(map[string]float64), make(map[string]float64)
	for _, w := range b.Waits() {
		waiting[w.Upstream]++
		if w.Held {
			held[w.Upstream]++
		}
	}
	for _, u := range b.Upstreams() {
		s.Set(g.waiting, waiting[u.Name], gatewayFace, u.Name)
		s.Set(g.held, held[u.Name], gatewayFace, u.Name)
		s.Set(g.paused, oneIf(!u.Breaker.Paused.IsZero()), gatewayFace, u.Name)
		health := h.Health(u.Name, u.Breaker, now)
		g.condition(s, gatewayFace, u.Name, health.Condition)
		for _, m := range health.Failing {
			s.Set(g.model, 1, gatewayFace, u.Name, bounded(u.Name, m))
		}
		g.learned(s, u, bounded)
		g.limits(s, u, bounded)
	}
}

// limits sets the remaining limits of an upstream. A limit of all models has no model.
func (g *gauges) limits(s *metrics.Scrape, u gateway.Health, bounded func(upstream, model string) string) {
	type limit struct{ model, name string }
	least := map[limit]float64{}
	for _, h := range u.Limits {
		model := ""
		if h.Model != "" {
			model = bounded(u.Name, h.Model)
		}
		for _, l := range h.Limits {
			of, left := limit{model, l.Name}, 1-l.Used
			if before, known := least[of]; !known || left < before {
				least[of] = left
			}
		}
	}
	for of, left := range least {
		s.Set(g.remaining, left, gatewayFace, u.Name, of.model, of.name)
	}
}

func (g *gauges) condition(s *metrics.Scrape, face, upstream string, c history.Condition) {
	s.Set(g.outage, oneIf(c == history.Down), face, upstream)
	s.Set(g.degraded, oneIf(c == history.Degraded), face, upstream)
}

func (g *gauges) learned(s *metrics.Scrape, u gateway.Health, bounded func(upstream, model string) string) {
	longest := map[string]time.Duration{}
	for _, l := range u.Learned {
		model := bounded(u.Name, l.Model)
		longest[model] = max(longest[model], l.Limit)
	}
	for model, limit := range longest {
		s.Set(g.firstByte, limit.Seconds(), gatewayFace, u.Name, model)
	}
}

// ShowTurns adds gauges of waiting turns in conversations, and of the outages of their providers. upstreams lists
// the providers, each with the number of turns that wait for it. It must be called at most once.
func (t *Telemetry) ShowTurns(upstreams func() iter.Seq2[breaker.State, int], h *history.History) {
	const face = ConversationFace
	t.registry.OnScrape(func(s *metrics.Scrape) {
		for u, waiting := range upstreams() {
			provider := history.Provider(u.Name)
			s.Set(t.gauges.waiting, float64(waiting), face, provider)
			t.gauges.condition(s, face, provider, h.Health(u.Name, u, time.Now()).Condition)
		}
	})
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

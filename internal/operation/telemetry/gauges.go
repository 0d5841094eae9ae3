package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

// gauges collects the gateway's current state.
type gauges struct {
	board            Board
	history          *history.History
	waiting, held    *prometheus.Desc
	outage, degraded *prometheus.Desc
	model, paused    *prometheus.Desc
	firstByte        *prometheus.Desc
	bounded          func(labels) labels
}

func newGauges(b Board, h *history.History, bounded func(labels) labels) *gauges {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return gaugeDesc(gatewayFace, name, help, more...)
	}
	return &gauges{
		board:     b,
		history:   h,
		bounded:   bounded,
		waiting:   waitingDesc(gatewayFace),
		held:      desc("held_requests", "Waiting requests whose client gets keepalives."),
		outage:    outageDesc(gatewayFace),
		degraded:  degradedDesc(gatewayFace),
		model:     desc("model_outage", "1 for each model whose last tries have failed; left out: it has no outage.", "model"),
		paused:    desc("upstream_paused", "1 if an operator has paused the upstream, otherwise 0."),
		firstByte: desc("first_byte_limit_seconds", "The learned limit on the first byte of an answer, the longest by size of the request.", "model"),
	}
}

// gaugeDesc describes a gauge of a face, by upstream.
func gaugeDesc(face, name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("ridethrough_"+name, help, append([]string{"upstream"}, more...), prometheus.Labels{"face": face})
}

func waitingDesc(face string) *prometheus.Desc {
	return gaugeDesc(face, "waiting_requests", "Requests waiting for their next try.")
}

func outageDesc(face string) *prometheus.Desc {
	return gaugeDesc(face, "upstream_outage", "1 if nothing of the upstream is answered, otherwise 0.")
}

func degradedDesc(face string) *prometheus.Desc {
	return gaugeDesc(face, "upstream_degraded", "1 if models of the upstream, or a credential, fail while others are answered, otherwise 0.")
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.held, g.outage, g.degraded, g.model, g.paused, g.firstByte} {
		to <- d
	}
}

// Collect implements prometheus.Collector. Every upstream has all gauges.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	now, waiting, held := time.Now(), make(map[string]int), make(map[string]int)
	for _, w := range g.board.Waits() {
		waiting[w.Upstream]++
		if w.Held {
			held[w.Upstream]++
		}
	}
	for _, h := range g.board.Upstreams() {
		gauge := func(d *prometheus.Desc, v int) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), h.Name)
		}
		gauge(g.waiting, waiting[h.Name])
		gauge(g.held, held[h.Name])
		health := g.history.Health(h.Name, h.Breaker, now)
		gauge(g.outage, oneIf(health.Condition == history.Down))
		gauge(g.degraded, oneIf(health.Condition == history.Degraded))
		g.collectFailing(h.Name, health.Failing, to)
		gauge(g.paused, oneIf(!h.Breaker.Paused.IsZero()))
		g.collectLearned(h, to)
	}
}

// collectLearned collects the learned limits of an upstream.
func (g *gauges) collectLearned(h gateway.Health, to chan<- prometheus.Metric) {
	longest := map[string]time.Duration{}
	for _, l := range h.Learned {
		if model := g.bounded(labels{gatewayFace, h.Name, l.Model}).model; l.Limit > longest[model] {
			longest[model] = l.Limit
		}
	}
	for model, limit := range longest {
		to <- prometheus.MustNewConstMetric(g.firstByte, prometheus.GaugeValue, limit.Seconds(), h.Name, model)
	}
}

// collectFailing collects the models of an upstream that fail, each once: names that are too many share one.
func (g *gauges) collectFailing(upstream string, models []string, to chan<- prometheus.Metric) {
	seen := map[string]bool{}
	for _, m := range models {
		if model := g.bounded(labels{gatewayFace, upstream, m}).model; !seen[model] {
			seen[model] = true
			to <- prometheus.MustNewConstMetric(g.model, prometheus.GaugeValue, 1, upstream, model)
		}
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

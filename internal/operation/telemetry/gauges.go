package telemetry

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
)

// gauges collects the gateway's current state.
type gauges struct {
	board                         Board
	waiting, held, outage, paused *prometheus.Desc
	firstByte                     *prometheus.Desc
	names                         func(upstream, model string) pair
}

func newGauges(b Board, names func(upstream, model string) pair) *gauges {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("ridethrough_"+name, help, append([]string{"upstream"}, more...), nil)
	}
	return &gauges{
		board:     b,
		names:     names,
		waiting:   desc("waiting_requests", "Requests waiting for their next try."),
		held:      desc("held_requests", "Waiting requests whose client gets keepalives."),
		outage:    desc("upstream_outage", "1 if the upstream, or a part of it, has an outage, otherwise 0."),
		paused:    desc("upstream_paused", "1 if an operator has paused the upstream, otherwise 0."),
		firstByte: desc("first_byte_limit_seconds", "The learned limit on the first byte of an answer, the longest by size of the request.", "model"),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.held, g.outage, g.paused, g.firstByte} {
		to <- d
	}
}

// Collect implements prometheus.Collector. Every upstream has all gauges.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	waiting, held := make(map[string]int), make(map[string]int)
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
		gauge(g.outage, oneIf(failing(h)))
		gauge(g.paused, oneIf(!h.Breaker.Paused.IsZero()))
		g.collectLearned(h, to)
	}
}

// collectLearned collects the learned limits of an upstream.
func (g *gauges) collectLearned(h gateway.Health, to chan<- prometheus.Metric) {
	longest := map[string]time.Duration{}
	for _, l := range h.Learned {
		if model := g.names(h.Name, l.Model).model; l.Limit > longest[model] {
			longest[model] = l.Limit
		}
	}
	for model, limit := range longest {
		to <- prometheus.MustNewConstMetric(g.firstByte, prometheus.GaugeValue, limit.Seconds(), h.Name, model)
	}
}

// failing reports whether an upstream has an outage from which it is not recovering.
func failing(h gateway.Health) bool {
	return slices.ContainsFunc(h.Breaker.Outages, func(o breaker.Outage) bool { return !o.Recovering })
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
)

// gauges asks for how things are when somebody reads the numbers.
type gauges struct {
	board                         Board
	waiting, held, outage, paused *prometheus.Desc
}

func newGauges(b Board) *gauges {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("ridethrough_"+name, help, []string{"upstream"}, nil)
	}
	return &gauges{
		board:   b,
		waiting: desc("waiting_requests", "Requests that wait for another try."),
		held:    desc("held_requests", "Waiting requests whose client is being kept alive."),
		outage:  desc("upstream_outage", "Whether the upstream, or a part of it, is failing: 1 or 0."),
		paused:  desc("upstream_paused", "Whether somebody has paused the upstream: 1 or 0."),
	}
}

// Describe returns the names.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.held, g.outage, g.paused} {
		to <- d
	}
}

// Collect returns the numbers, zeros included, for each upstream that there is.
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
		gauge(g.outage, one(failing(h)))
		gauge(g.paused, one(!h.Breaker.Paused.IsZero()))
	}
}

// failing reports whether an upstream has an outage that is not over.
func failing(h gateway.Health) bool {
	return slices.ContainsFunc(h.Breaker.Outages, func(o breaker.Outage) bool { return !o.Recovering })
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

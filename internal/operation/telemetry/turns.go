package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/turns"
)

// turnGauges collects the current state of conversations: the gateway's gauges that turns have too.
type turnGauges struct {
	runner                    *conversation.Runner
	history                   *history.History
	waiting, outage, degraded *prometheus.Desc
}

// ShowTurns adds gauges of the turns that wait to the metrics, and of the outages of their providers. It must be
// called at most once.
func (t *Telemetry) ShowTurns(r *conversation.Runner, h *history.History) {
	const face = turns.Conversation
	t.registry.MustRegister(&turnGauges{runner: r, history: h, waiting: waitingDesc(face), outage: outageDesc(face), degraded: degradedDesc(face)})
}

// Describe implements prometheus.Collector.
func (g *turnGauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.waiting, g.outage, g.degraded} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (g *turnGauges) Collect(to chan<- prometheus.Metric) {
	for _, u := range g.runner.Upstreams() {
		name := u.Breaker.Name
		health := g.history.Health(history.ConversationUpstream(name), u.Breaker, time.Now())
		for d, v := range map[*prometheus.Desc]int{
			g.waiting: u.Waiting, g.outage: oneIf(health.Condition == history.Down), g.degraded: oneIf(health.Condition == history.Degraded),
		} {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), name)
		}
	}
}

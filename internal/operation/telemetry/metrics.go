package telemetry

import (
	"runtime"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
)

// Clients choose the names of models, so only so many are told apart, and only
// by so much of the name.
const (
	modelBound = 50
	nameBound  = 64
	otherModel = "other"
)

// answered stands for the kind of a try that has not failed.
const answered = "none"

// The bounds of the histograms in seconds: what people call at once, and what
// they have to wait for.
var (
	contentBuckets = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	waitBuckets    = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800}
)

// metrics counts events.
type metrics struct {
	requests, recovered, left, switched *prometheus.CounterVec // by upstream and model
	tries, shared, retries              *prometheus.CounterVec // by upstream, model and kind
	gaveUp, brokeOff                    *prometheus.CounterVec // likewise
	content, waited                     *prometheus.HistogramVec

	mu     sync.RWMutex
	models map[string]bool
	series map[pair]*series
}

// pair is whose a number is.
type pair struct{ upstream, model string }

// series are the numbers that every request needs, found at once.
type series struct {
	requests, answered prometheus.Counter
	content, waited    prometheus.Observer
}

// newMetrics registers the numbers that events make.
func newMetrics(to prometheus.Registerer, version string) *metrics {
	m := &metrics{models: make(map[string]bool), series: make(map[pair]*series)}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "ridethrough", Name: name, Help: help}, labels)
		to.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "ridethrough", Name: name, Help: help, Buckets: buckets}, []string{"upstream"})
		to.MustRegister(v)
		return v
	}
	m.requests = counter("requests_total", "Requests for an answer that have come in.", "upstream", "model")
	m.recovered = counter("recovered_total", "Requests that were answered after a try had failed.", "upstream", "model")
	m.left = counter("left_total", "Requests whose client left before it had its answer.", "upstream", "model")
	m.switched = counter("switched_total", "Requests that went on at this upstream after another had failed.", "upstream", "model")
	m.tries = counter("tries_total", "Requests sent to the upstream, by the kind of their fault; none: it answered.", "upstream", "model", "kind")
	m.shared = counter("shared_tries_total", "Tries for which nothing was sent because another request found out.", "upstream", "model", "kind")
	m.retries = counter("retries_total", "Waits for another try, by the kind of the fault before.", "upstream", "model", "kind")
	m.gaveUp = counter("gave_up_total", "Requests that failed for good, by the kind of the last fault.", "upstream", "model", "kind")
	m.brokeOff = counter("broke_off_total", "Answers that failed after their first content.", "upstream", "model", "kind")
	m.content = histogram("time_to_first_content_seconds", "From the arrival of a request to the first content of its answer, waiting included.", contentBuckets)
	m.waited = histogram("wait_seconds", "How long requests waited that had to, in all.", waitBuckets)
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "ridethrough", Name: "build_info", Help: "What is running; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	to.MustRegister(build)
	return m
}

// watch counts an event.
func (m *metrics) watch(e gateway.Event) {
	s, p := m.find(e.Call.Upstream, e.Call.Model)
	switch e.Type {
	case gateway.Began:
		s.requests.Inc()
	case gateway.Tried:
		m.tried(e, s, p)
	case gateway.Retrying:
		m.retries.WithLabelValues(p.upstream, p.model, kind(e.Wait.Fault)).Inc()
	case gateway.Switched:
		m.switched.WithLabelValues(p.upstream, p.model).Inc()
	case gateway.Recovered:
		m.recovered.WithLabelValues(p.upstream, p.model).Inc()
		s.waited.Observe(e.Wait.Waited.Seconds())
	case gateway.GaveUp:
		m.gaveUp.WithLabelValues(p.upstream, p.model, kind(e.Wait.Fault)).Inc()
		m.observe(e, s)
	case gateway.BrokeOff:
		m.brokeOff.WithLabelValues(p.upstream, p.model, kind(e.Wait.Fault)).Inc()
	case gateway.Left:
		m.left.WithLabelValues(p.upstream, p.model).Inc()
		m.observe(e, s)
	}
}

// tried counts a try, and the time to the first content where it was answered.
func (m *metrics) tried(e gateway.Event, s *series, p pair) {
	try := e.Try
	switch {
	case try.Shared:
		m.shared.WithLabelValues(p.upstream, p.model, kind(try.Fault)).Inc()
	case try.Fault != nil:
		m.tries.WithLabelValues(p.upstream, p.model, kind(try.Fault)).Inc()
	default:
		s.answered.Inc()
		s.content.Observe(try.Start.Add(try.Took).Sub(e.Call.Began).Seconds())
	}
}

// observe counts a wait that came to nothing.
func (m *metrics) observe(e gateway.Event, s *series) {
	if e.Wait.Waited > 0 {
		s.waited.Observe(e.Wait.Waited.Seconds())
	}
}

// kind returns a fault's kind as a label.
func kind(f *fault.Error) string {
	if f == nil {
		return answered
	}
	return f.Kind.String()
}

// find returns the numbers of an upstream and a model, and whose they are.
func (m *metrics) find(upstream, model string) (*series, pair) {
	if len(model) > nameBound {
		model = model[:nameBound]
	}
	p := pair{upstream, strings.ToValidUTF8(model, "?")}
	m.mu.RLock()
	if len(m.models) >= modelBound && !m.models[p.model] {
		p.model = otherModel
	}
	s := m.series[p]
	m.mu.RUnlock()
	if s != nil {
		return s, p
	}
	return m.add(p)
}

// add makes the numbers of an upstream and a model.
func (m *metrics) add(p pair) (*series, pair) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.models[p.model]:
	case len(m.models) < modelBound && p.model != otherModel:
		m.models[p.model] = true
	default:
		p.model = otherModel
	}
	if m.series[p] == nil {
		m.series[p] = &series{
			requests: m.requests.WithLabelValues(p.upstream, p.model),
			answered: m.tries.WithLabelValues(p.upstream, p.model, answered),
			content:  m.content.WithLabelValues(p.upstream),
			waited:   m.waited.WithLabelValues(p.upstream),
		}
	}
	return m.series[p], p
}

package telemetry

import (
	"runtime"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/turn"
)

// Clients choose the names of models, so their number and length are bounded.
const (
	modelBound = 50
	nameBound  = 64
	otherModel = "other"
)

// answered is the kind label of a try that did not fail.
const answered = "none"

// The buckets of the histograms, in seconds.
var (
	contentBuckets = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	waitBuckets    = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800}
)

// metrics has the metrics that count events.
type metrics struct {
	requests, recovered, left, switched *prometheus.CounterVec // by upstream and model
	detached, replayed                  *prometheus.CounterVec // likewise
	tries, shared, retries              *prometheus.CounterVec // by upstream, model and kind
	gaveUp, brokeOff                    *prometheus.CounterVec // likewise
	silent                              *prometheus.CounterVec // by upstream and model
	content, waited                     *prometheus.HistogramVec

	mu     sync.RWMutex
	models map[string]bool
	series map[pair]*series
}

// pair has the labels of a metric.
type pair struct{ upstream, model string }

// series has the metrics of every request, looked up once.
type series struct {
	requests, answered prometheus.Counter
	content, waited    prometheus.Observer
}

// newMetrics registers the metrics.
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
	m.requests = counter("requests_total", "Requests received.", "upstream", "model")
	m.recovered = counter("recovered_total", "Requests answered after a failed try.", "upstream", "model")
	m.left = counter("left_total", "Requests whose client left before the answer.", "upstream", "model")
	m.detached = counter("detached_total", "Requests whose client left and whose answer was read on.", "upstream", "model")
	m.replayed = counter("replayed_total", "Requests that were given the answer of an earlier one, whose client had left.", "upstream", "model")
	m.switched = counter("switched_total", "Requests that failed over to this upstream.", "upstream", "model")
	m.tries = counter("tries_total", "Requests sent to the upstream, by kind of fault; none: answered.", "upstream", "model", "kind")
	m.shared = counter("shared_tries_total", "Tries that were not sent because they shared the outcome of another request.", "upstream", "model", "kind")
	m.retries = counter("retries_total", "Retries, by kind of the preceding fault.", "upstream", "model", "kind")
	m.gaveUp = counter("gave_up_total", "Requests that failed, by kind of the last fault.", "upstream", "model", "kind")
	m.brokeOff = counter("broke_off_total", "Answers that failed after their first content.", "upstream", "model", "kind")
	m.silent = counter("silent_tries_total", "Tries that ended because nothing of an answer came in time.", "upstream", "model")
	m.content = histogram("time_to_first_content_seconds", "Time from the arrival of a request to the first content of its answer, waits included.", contentBuckets)
	m.waited = histogram("wait_seconds", "Total wait of requests that had to wait.", waitBuckets)
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "ridethrough", Name: "build_info", Help: "Version of the program as a label; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	to.MustRegister(build)
	return m
}

// watch records an event.
func (m *metrics) watch(e gateway.Event) {
	s, p := m.find(e.Call.Upstream, e.Call.Model)
	if e.Try.N > 0 {
		m.tried(e, s, p)
	}
	if e.Detached {
		m.detached.WithLabelValues(p.upstream, p.model).Inc()
	}
	if e.Replayed != 0 {
		m.replayed.WithLabelValues(p.upstream, p.model).Inc()
	}
	switch event := e.Event.(type) {
	case turn.Start:
		s.requests.Inc()
	case turn.Retry:
		m.retries.WithLabelValues(p.upstream, p.model, kind(event.Fault)).Inc()
	case turn.Switched:
		m.switched.WithLabelValues(p.upstream, p.model).Inc()
	case turn.Recovered:
		m.recovered.WithLabelValues(p.upstream, p.model).Inc()
		s.waited.Observe(event.Waited.Seconds())
	case turn.Error:
		m.failed(event, s, p)
	}
}

// failed counts a request or an answer that has failed, and the wait of a request without an answer.
func (m *metrics) failed(e turn.Error, s *series, p pair) {
	switch {
	case e.Committed():
		m.brokeOff.WithLabelValues(p.upstream, p.model, kind(e.Fault)).Inc()
		return
	case e.Left():
		m.left.WithLabelValues(p.upstream, p.model).Inc()
	case e.Stop != "": // else the gateway is closed
		m.gaveUp.WithLabelValues(p.upstream, p.model, kind(e.Fault)).Inc()
	}
	if e.Waited > 0 {
		s.waited.Observe(e.Waited.Seconds())
	}
}

// tried counts a try, and the time to the first content where it was answered.
func (m *metrics) tried(e gateway.Event, s *series, p pair) {
	try := e.Try
	switch {
	case try.Shared:
		m.shared.WithLabelValues(p.upstream, p.model, kind(try.Fault)).Inc()
	case try.Fault != nil:
		if code := try.Fault.Code; code == fault.Silence || code == fault.SilentTry {
			m.silent.WithLabelValues(p.upstream, p.model).Inc()
		}
		m.tries.WithLabelValues(p.upstream, p.model, kind(try.Fault)).Inc()
	default:
		s.answered.Inc()
		s.content.Observe(try.Start.Add(try.Took).Sub(e.Call.Began).Seconds())
	}
}

// kind returns a fault's kind as a label.
func kind(f *fault.Error) string {
	if f == nil {
		return answered
	}
	return f.Kind.String()
}

// labels returns the labels of an upstream and a model.
func (m *metrics) labels(upstream, model string) pair {
	_, p := m.find(upstream, model)
	return p
}

// find returns the series of an upstream and a model, and its labels.
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

// add creates the series of an upstream and a model.
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

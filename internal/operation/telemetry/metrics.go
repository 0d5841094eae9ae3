package telemetry

import (
	"cmp"
	"runtime"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/metrics"
	"github.com/ridethrough/ridethrough/turn"
)

// Clients choose the names of models, so their number and length are bounded.
const (
	modelBound = 50
	nameBound  = 64
	otherModel = "other"
)

const namespace = "ridethrough_"

// answered is the kind label of a try that did not fail.
const answered = "none"

var (
	contentBuckets = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	waitBuckets    = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800}
)

type counts struct {
	requests, recovered, left, switched *metrics.Counters // by face, upstream and model
	resent, detached, replayed, silent  *metrics.Counters // likewise
	queued                              *metrics.Counters // likewise
	completed, unjoined, discarded      *metrics.Counters // likewise
	tries, shared, retries              *metrics.Counters // by kind as well
	gaveUp, brokeOff                    *metrics.Counters // likewise
	content, waited, queueTime          *metrics.Histograms

	mu     sync.Mutex
	models map[string]bool
	series map[labels]*series
}

type labels struct{ face, upstream, model string }

// of returns the counter with these labels and additional ones.
func (l labels) of(v *metrics.Counters, more ...string) metrics.Counter {
	return v.With(append([]string{l.face, l.upstream, l.model}, more...)...)
}

// gatewayFace is the label of calls that are no turns.
const gatewayFace = "gateway"

// ConversationFace is the label of turns in the conversations of a server.
const ConversationFace = "conversation"

func faceOf(c *gateway.Call) string { return cmp.Or(c.Face, gatewayFace) }

// isTurn reports whether a call is a turn of an agent, which asks models as often as it needs.
func isTurn(c *gateway.Call) bool { return c.Face != "" }

// series has the metrics of every request, looked up once.
type series struct {
	labels
	requests, answered metrics.Counter
	content, waited    metrics.Histogram
}

func newCounts(to *metrics.Registry, version string) *counts {
	m := &counts{models: make(map[string]bool), series: make(map[labels]*series)}
	counter := func(name, help string, more ...string) *metrics.Counters {
		return to.Counters(namespace+name, help, append([]string{"face", "upstream", "model"}, more...)...)
	}
	histogram := func(name, help string, bounds []float64) *metrics.Histograms {
		return to.Histograms(namespace+name, help, bounds, "face", "upstream")
	}
	m.requests = counter("requests_total", "Requests received.")
	m.recovered = counter("recovered_total", "Requests answered after a failed try.")
	m.left = counter("left_total", "Requests whose client left before the answer.")
	m.detached = counter("detached_total", "Requests whose client left and whose answer was read on.")
	m.replayed = counter("replayed_total", "Requests that were given the answer of an earlier one, whose client had left.")
	m.completed = counter("completed_total", "Answers that broke off after their first content and were completed.")
	m.unjoined = counter("seam_missing_total", "Answers that broke off in a text and that another answer did not continue.")
	m.discarded = counter("discarded_tokens_total", "Tokens that broken answers had taken when they were asked for again, as far as they said.")
	m.switched = counter("switched_total", "Requests that failed over to this upstream.")
	m.tries = counter("tries_total", "Requests sent to the upstream, by kind of fault; none: answered.", "kind")
	m.shared = counter("shared_tries_total", "Tries that were not sent because they shared the outcome of another request.", "kind")
	m.resent = counter("resent_total", "Tries sent again at once, without being a retry: a kept connection was closed before their answer began.")
	m.retries = counter("retries_total", "Retries, by kind of the preceding fault.", "kind")
	m.gaveUp = counter("gave_up_total", "Requests that failed, by kind of the last fault.", "kind")
	m.brokeOff = counter("broke_off_total", "Answers that failed after their first content.", "kind")
	m.silent = counter("silent_tries_total", "Tries that ended because nothing of an answer came in time.")
	m.queued = counter("queued_total", "Requests that waited a second or more for room below a limit that the upstream states.")
	m.queueTime = histogram("queue_seconds", "Time of these in the queue.", waitBuckets)
	m.content = histogram("time_to_first_content_seconds", "Time from the arrival of a request to the first content of its answer, waits included.", contentBuckets)
	m.waited = histogram("wait_seconds", "Total wait of requests that had to wait.", waitBuckets)
	build := to.Gauges(namespace+"build_info", "Version of the program as a label; always 1.", "version", "go_version")
	to.OnScrape(func(s *metrics.Scrape) { s.Set(build, 1, version, runtime.Version()) })
	return m
}

func (m *counts) watch(e *gateway.Event) {
	s := m.find(labels{faceOf(&e.Call), e.Call.Upstream, e.Call.Model})
	if e.Try.N > 0 {
		m.tried(e, s)
	}
	if e.Resent {
		s.of(m.resent).Inc()
	}
	if e.Admitted > 0 {
		s.of(m.queued).Inc()
		m.queueTime.With(s.face, s.upstream).Observe(e.Admitted.Seconds())
	}
	if e.Detached {
		s.of(m.detached).Inc()
	}
	if e.Replayed != 0 {
		s.of(m.replayed).Inc()
	}
	m.again(e.Completed, s)
	switch event := e.Event.(type) {
	case turn.Start:
		s.requests.Inc()
	case turn.Retry:
		s.of(m.retries, kind(event.Fault)).Inc()
	case turn.Switched:
		s.of(m.switched).Inc()
	case turn.Recovered:
		s.of(m.recovered).Inc()
		s.waited.Observe(event.Waited.Seconds())
	case turn.Error:
		m.failed(&e.Call, event, s)
	case turn.Sealed:
		if event.TimeToFirstToken > 0 { // of a turn
			s.content.Observe(event.TimeToFirstToken.Seconds())
		}
	}
}

// again counts an answer that was requested again after its first content.
func (m *counts) again(c gateway.Completed, s *series) {
	switch {
	case c.Unjoined:
		s.of(m.unjoined).Inc()
	case c.Again > 0:
		s.of(m.completed).Inc()
	}
	if c.Discarded > 0 {
		s.of(m.discarded).Add(float64(c.Discarded))
	}
}

// failed counts a failed request or answer, and the wait of a request without an answer.
func (m *counts) failed(c *gateway.Call, e turn.Error, s *series) {
	switch {
	case e.Committed():
		s.of(m.brokeOff, kind(e.Fault)).Inc()
		return
	case e.Left():
		s.of(m.left).Inc()
	case e.Stop != "" || isTurn(c): // else the gateway is closed
		s.of(m.gaveUp, kind(e.Fault)).Inc()
	}
	if e.Waited > 0 {
		s.waited.Observe(e.Waited.Seconds())
	}
}

// tried counts a try, and the time to the first content if it was answered.
func (m *counts) tried(e *gateway.Event, s *series) {
	try := e.Try
	switch {
	case try.Shared:
		s.of(m.shared, kind(try.Fault)).Inc()
	case try.Fault != nil:
		if code := try.Fault.Code; code == fault.Silence || code == fault.SilentTry {
			s.of(m.silent).Inc()
		}
		s.of(m.tries, kind(try.Fault)).Inc()
	default:
		s.answered.Inc()
		if !isTurn(&e.Call) { // its seal has the time of the first of its answers
			s.content.Observe(try.Start.Add(try.Took).Sub(e.Call.Began).Seconds())
		}
	}
}

func kind(f *fault.Error) string {
	if f == nil {
		return answered
	}
	return f.Kind.String()
}

// bounded returns the label of a model: excess names share one.
func (m *counts) bounded(upstream, model string) string {
	return m.find(labels{gatewayFace, upstream, model}).model
}

// find returns the series of labels, whose model is bounded.
func (m *counts) find(p labels) *series {
	p.model = strings.ToValidUTF8(p.model[:min(len(p.model), nameBound)], "?")
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.models[p.model]:
	case len(m.models) < modelBound && p.model != otherModel:
		m.models[p.model] = true
	default:
		p.model = otherModel
	}
	s := m.series[p]
	if s == nil {
		s = &series{
			labels:   p,
			requests: p.of(m.requests),
			answered: p.of(m.tries, answered),
			content:  m.content.With(p.face, p.upstream),
			waited:   m.waited.With(p.face, p.upstream),
		}
		m.series[p] = s
	}
	return s
}

package live

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/rest"
)

// traffic is what passed here, as JSON.
type traffic struct {
	Held      held     `json:"held"`
	Upstreams []passed `json:"upstreams"`
}

// held is what waiting achieved in the last day, as JSON.
type held struct {
	Calls    int   `json:"calls"`    // requests that were answered after a failed try
	OutageMs int64 `json:"outageMs"` // the length of the incidents that these have met
	Retries  int   `json:"retries"`  // that these took: their clients have sent none of them
	WaitedMs int64 `json:"waitedMs"` // the sum of their waits
	SinceMs  int64 `json:"sinceMs"`  // the time span
}

// passed is what passed at an upstream, as JSON.
type passed struct {
	Name string `json:"name"`
	Hour span   `json:"hour"`
	Day  span   `json:"day"`
}

// span is a time in steps, as JSON.
type span struct {
	StepMs int64     `json:"stepMs"`
	Until  time.Time `json:"until"` // when the last step ends, which is the current one
	All    step      `json:"all"`   // of all steps
	Steps  []step    `json:"steps"` // the oldest first
}

// step is a part of a span, as JSON. Without requests it is empty.
type step struct {
	cell
	Requests     int     `json:"requests,omitzero"`        // that arrived
	Kinds        []cause `json:"kinds,omitempty"`          // of failed tries, also of those that the upstream did not cause
	FirstToken95 int64   `json:"firstTokenP95Ms,omitzero"` // 95 % are not longer
	AddedMs      int64   `json:"addedMs,omitzero"`         // the median from the arrival until the answered try was sent
	Added95      int64   `json:"addedP95Ms,omitzero"`      // 95 % are not longer
}

// trafficTime is how long an answer of /-/traffic is shown to all readers before it is made again.
const trafficTime = time.Second

// lastTraffic is the latest answer of /-/traffic.
type lastTraffic struct {
	mu   sync.Mutex
	at   time.Time
	text []byte // of that time
}

// serveTraffic shows what passed at each upstream in the last hour and day.
func (l *Live) serveTraffic(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(l.trafficText(time.Now())) // a client that left misses it
}

// trafficText returns what readers get: however many they are, it is made once in a trafficTime.
func (l *Live) trafficText(now time.Time) []byte {
	l.traffic.mu.Lock()
	defer l.traffic.mu.Unlock()
	if l.traffic.text == nil || now.Sub(l.traffic.at) >= trafficTime {
		l.traffic.at, l.traffic.text = now, rest.JSON(l.loadTraffic(now))
	}
	return l.traffic.text
}

func (l *Live) loadTraffic(now time.Time) traffic {
	v := traffic{Upstreams: []passed{}}
	shown := l.history()
	if shown == nil {
		return v
	}
	h := shown.Held(now)
	v.Held = held{h.Calls, h.Outage.Milliseconds(), h.Retries, h.Waited.Milliseconds(), h.Since.Milliseconds()}
	for _, name := range l.trafficNames(shown) {
		hour, day := shown.Traffic(name, now)
		v.Upstreams = append(v.Upstreams, passed{name, viewSpan(hour, now), viewSpan(day, now)})
	}
	return v
}

// trafficNames returns the names of the gateway's upstreams in the order of the configuration, then the others.
func (l *Live) trafficNames(of *history.History) (names []string) {
	for _, u := range l.Gateway.Upstreams() {
		names = append(names, u.Name)
	}
	for _, name := range of.Names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func viewSpan(t history.Traffic, now time.Time) span {
	v := span{
		StepMs: t.Step.Milliseconds(), Until: api.Time(now.Truncate(t.Step).Add(t.Step)), All: viewStep(t.All), Steps: make([]step, len(t.Steps)),
	}
	for i, s := range t.Steps {
		v.Steps[i] = viewStep(s)
	}
	return v
}

func viewStep(s history.Step) step {
	return step{
		cell: viewCell(s.Cell), Requests: s.Requests, Kinds: viewKinds(s.Kinds),
		FirstToken95: s.FirstMost.Milliseconds(), AddedMs: s.Added.Milliseconds(), Added95: s.AddedMost.Milliseconds(),
	}
}

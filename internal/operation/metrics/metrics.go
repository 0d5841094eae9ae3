// Package metrics has the counters, histograms and gauges of client_golang, as this program uses them: label values
// that are not UTF-8 are mended, and gauges are set at each scrape, so that none outlives what it is about.
package metrics

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry has metrics. Its methods may be called concurrently, but it must be filled before it is served. The zero
// Registry is empty.
type Registry struct {
	inner      *prometheus.Registry // nil: empty
	families   []Family
	collectors []func(*Scrape)
}

// Family describes the metrics of a name.
type Family struct {
	Name, Help string
	Kind       string // counter, gauge or histogram
	Labels     []string
}

// Families describes all metrics, in the order in which they were added.
func (r *Registry) Families() []Family { return slices.Clone(r.families) }

func (r *Registry) registry() *prometheus.Registry {
	if r.inner == nil {
		r.inner = prometheus.NewRegistry()
		r.inner.MustRegister(scraped{r})
	}
	return r.inner
}

// add adds a family, whose name must be new. all is nil for gauges.
func (r *Registry) add(f Family, all prometheus.Collector) {
	if slices.ContainsFunc(r.families, func(other Family) bool { return other.Name == f.Name }) {
		panic(fmt.Sprintf("metrics: there are two metrics %s", f.Name))
	}
	r.families = append(r.families, f)
	if all != nil {
		r.registry().MustRegister(all)
	}
}

// valid returns label values as client_golang accepts them: clients choose some, and it panics if one is not UTF-8.
func valid(values []string) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = strings.ToValidUTF8(value, "?")
	}
	return all
}

// Counter counts.
type Counter = prometheus.Counter

// Counters is a counter for each combination of label values.
type Counters struct{ vec *prometheus.CounterVec }

// Counters adds counters with one or more labels.
func (r *Registry) Counters(name, help string, labels ...string) *Counters {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.add(Family{name, help, "counter", labels}, v)
	return &Counters{v}
}

// With returns the counter with values for the labels, in their order. It panics if there are more or fewer values
// than labels.
func (c *Counters) With(values ...string) Counter { return c.vec.WithLabelValues(valid(values)...) }

// CounterFunc adds a counter without labels that is read at each scrape.
func (r *Registry) CounterFunc(name, help string, read func() float64) {
	r.add(Family{Name: name, Help: help, Kind: "counter"}, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Histogram counts values by size.
type Histogram = prometheus.Observer

// Histograms is a histogram for each combination of label values.
type Histograms struct{ vec *prometheus.HistogramVec }

// Histograms adds histograms with one or more labels. bounds are the upper bounds of the buckets, ascending.
func (r *Registry) Histograms(name, help string, bounds []float64, labels ...string) *Histograms {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	r.add(Family{name, help, "histogram", labels}, v)
	return &Histograms{v}
}

// With returns the histogram with values for the labels, as [Counters.With] does.
func (h *Histograms) With(values ...string) Histogram { return h.vec.WithLabelValues(valid(values)...) }

// Gauges is a gauge for each combination of label values, which each scrape sets.
type Gauges struct{ desc *prometheus.Desc }

// Gauges adds gauges. [Registry.OnScrape] sets them.
func (r *Registry) Gauges(name, help string, labels ...string) *Gauges {
	r.add(Family{name, help, "gauge", labels}, nil)
	return &Gauges{prometheus.NewDesc(name, help, labels, nil)}
}

// OnScrape adds a function that sets gauges at each scrape. Functions are called in order, but scrapes may overlap.
func (r *Registry) OnScrape(f func(*Scrape)) {
	r.registry()
	r.collectors = append(r.collectors, f)
}

// Scrape is one reading of the gauges.
type Scrape struct {
	set map[setting]prometheus.Metric
}

// setting is a gauge and its label values, joined by bytes that are not UTF-8.
type setting struct {
	of     *Gauges
	values string
}

// Set sets a gauge. It panics if there are more or fewer values than labels.
func (s *Scrape) Set(g *Gauges, v float64, values ...string) {
	values = valid(values)
	s.set[setting{g, strings.Join(values, "\xff")}] = prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, v, values...)
}

type scraped struct{ r *Registry }

// Describe describes nothing, since gauges are added later.
func (scraped) Describe(chan<- *prometheus.Desc) {}

func (c scraped) Collect(to chan<- prometheus.Metric) {
	s := &Scrape{set: map[setting]prometheus.Metric{}}
	for _, f := range c.r.collectors {
		f(s)
	}
	for _, m := range s.set {
		to <- m
	}
}

// maxScrapes bounds concurrent scrapes. Others are answered with 503.
const maxScrapes = 4

// Handler serves the metrics.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry(), promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

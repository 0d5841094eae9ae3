// Package metrics has counters, histograms and gauges, and serves them in the text format of Prometheus 0.0.4.
package metrics

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry has metrics. Its methods may be called concurrently, but it is filled before it is served. The zero
// Registry is empty.
type Registry struct {
	families   []*family
	collectors []func(*Scrape)
}

// Family describes the metrics of a name.
type Family struct {
	Name, Help string
	Kind       string // counter, gauge or histogram
	Labels     []string
}

// Families describes all metrics, in the order in which they were added.
func (r *Registry) Families() []Family {
	all := make([]Family, len(r.families))
	for i, f := range r.families {
		all[i] = Family{f.name, f.help, f.kind, f.labels}
	}
	return all
}

// family is the metrics of a name.
type family struct {
	name, help, kind string
	labels           []string
	read             func(sampler) // its samples; nil: they are set at the scrape
}

// sampler takes a sample of a family: what its name ends in, its label values, and the bound of a bucket or "".
type sampler func(suffix string, values []string, bound string, v float64)

// add adds a family, whose name must be new.
func (r *Registry) add(f *family) {
	if slices.ContainsFunc(r.families, func(other *family) bool { return other.name == f.name }) {
		panic(fmt.Sprintf("metrics: there are two metrics %s", f.name))
	}
	r.families = append(r.families, f)
}

// vec has a metric for each combination of label values.
type vec[M any] struct {
	labels []string
	fresh  func() *M

	mu  sync.RWMutex
	all map[string]*M // by its joined values
}

// separator joins label values. It is not part of any, for it is not UTF-8.
const separator = "\xff"

// With returns the metric with values for the labels, in their order. It is a mistake of the program to name more
// or fewer values than there are labels.
func (v *vec[M]) With(values ...string) *M {
	if len(values) != len(v.labels) {
		panic(fmt.Sprintf("metrics: %d values %q for the labels %q", len(values), values, v.labels))
	}
	key := strings.ToValidUTF8(values[0], "?")
	for _, value := range values[1:] {
		key += separator + strings.ToValidUTF8(value, "?")
	}
	v.mu.RLock()
	m := v.all[key]
	v.mu.RUnlock()
	if m != nil {
		return m
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if m = v.all[key]; m == nil {
		m = v.fresh()
		v.all[key] = m
	}
	return m
}

// each calls f for every metric.
func (v *vec[M]) each(f func(values []string, m *M)) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for key, m := range v.all {
		f(strings.Split(key, separator), m)
	}
}

// Counter counts. Its methods may be called concurrently.
type Counter struct{ n atomic.Uint64 }

// Inc adds 1.
func (c *Counter) Inc() { c.n.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Counters is a counter for each combination of label values.
type Counters struct{ vec[Counter] }

// Counters adds counters with one or more labels.
func (r *Registry) Counters(name, help string, labels ...string) *Counters {
	v := &Counters{vec[Counter]{labels: labels, fresh: func() *Counter { return new(Counter) }, all: map[string]*Counter{}}}
	r.add(&family{name: name, help: help, kind: "counter", labels: labels, read: func(add sampler) {
		v.each(func(values []string, c *Counter) { add("", values, "", float64(c.n.Load())) })
	}})
	return v
}

// Histogram counts values by size. Its methods may be called concurrently.
type Histogram struct {
	bounds []float64 // of the buckets, inclusive, ascending

	mu     sync.Mutex
	counts []uint64 // by bucket; the last is for what is beyond the bounds
	sum    float64
}

// Observe counts a value.
func (h *Histogram) Observe(value float64) {
	i := 0
	for i < len(h.bounds) && value > h.bounds[i] {
		i++
	}
	h.mu.Lock()
	h.counts[i]++
	h.sum += value
	h.mu.Unlock()
}

// Histograms is a histogram for each combination of label values.
type Histograms struct{ vec[Histogram] }

// Histograms adds histograms with one or more labels. bounds are the upper bounds of the buckets, ascending.
func (r *Registry) Histograms(name, help string, bounds []float64, labels ...string) *Histograms {
	v := &Histograms{vec[Histogram]{labels: labels, fresh: func() *Histogram {
		return &Histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
	}, all: map[string]*Histogram{}}}
	r.add(&family{name: name, help: help, kind: "histogram", labels: labels, read: func(add sampler) {
		v.each(func(values []string, h *Histogram) {
			h.mu.Lock()
			defer h.mu.Unlock()
			var upTo uint64
			for i, n := range h.counts {
				upTo += n
				bound := "+Inf"
				if i < len(bounds) {
					bound = number(bounds[i])
				}
				add("_bucket", values, bound, float64(upTo))
			}
			add("_sum", values, "", h.sum)
			add("_count", values, "", float64(upTo))
		})
	}})
	return v
}

// CounterFunc adds a counter without labels that is read when it is scraped.
func (r *Registry) CounterFunc(name, help string, read func() float64) {
	r.add(&family{name: name, help: help, kind: "counter", read: func(add sampler) {
		add("", nil, "", read())
	}})
}

// Gauges is a gauge for each combination of label values, set anew in each scrape.
type Gauges struct {
	name   string
	labels []string
}

// Gauges adds gauges. [Registry.OnScrape] sets them.
func (r *Registry) Gauges(name, help string, labels ...string) *Gauges {
	g := &Gauges{name: name, labels: labels}
	r.add(&family{name: name, help: help, kind: "gauge", labels: labels})
	return g
}

// OnScrape adds a function that sets gauges at each scrape. Functions are called one after the other, but scrapes
// may overlap.
func (r *Registry) OnScrape(f func(*Scrape)) { r.collectors = append(r.collectors, f) }

// Scrape is one reading of the metrics.
type Scrape struct{ set map[string]map[string]float64 } // by name and joined values

// Set sets a gauge, once or again.
func (s *Scrape) Set(g *Gauges, v float64, values ...string) {
	if len(values) != len(g.labels) {
		panic(fmt.Sprintf("metrics: %d values %q for the labels %q of %s", len(values), values, g.labels, g.name))
	}
	if s.set[g.name] == nil {
		s.set[g.name] = map[string]float64{}
	}
	valid := make([]string, len(values))
	for i, value := range values {
		valid[i] = strings.ToValidUTF8(value, "?")
	}
	s.set[g.name][strings.Join(valid, separator)] = v
}

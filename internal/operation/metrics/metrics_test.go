package metrics_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ridethrough/ridethrough/internal/operation/metrics"
)

func TestWrite_IsWhatClientGolangWrites(t *testing.T) {
	var r metrics.Registry
	tries := r.Counters("tries_total", `Tries, with a \ and`+"\nanother line.", "upstream", "kind")
	wait := r.Histograms("wait_seconds", "Wait.", []float64{0.1, 1, 30}, "upstream")
	left := r.Gauges("left", "Left.", "model")
	r.Counters("unused_total", "Without a sample it is left out.", "upstream")
	r.CounterFunc("lines_total", "Lines.", func() float64 { return 3e9 })

	own := prometheus.NewRegistry()
	theirTries := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tries_total", Help: `Tries, with a \ and` + "\nanother line."}, []string{"upstream", "kind"})
	theirWait := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "wait_seconds", Help: "Wait.", Buckets: []float64{0.1, 1, 30}}, []string{"upstream"})
	theirLeft := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "left", Help: "Left."}, []string{"model"})
	own.MustRegister(theirTries, theirWait, theirLeft, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "lines_total", Help: "Lines."}, func() float64 { return 3e9 }))

	hostile := "a\"b\\c\nd é"
	for _, u := range []string{"work", "a", hostile, ""} {
		for range 3 {
			tries.With(u, "none").Inc()
			theirTries.WithLabelValues(u, "none").Inc()
		}
		for _, v := range []float64{0, 0.1, 0.100001, 1, 29, 1e9} {
			wait.With(u).Observe(v)
			theirWait.WithLabelValues(u).Observe(v)
		}
	}
	tries.With("work", "overloaded").Add(1e7)
	theirTries.WithLabelValues("work", "overloaded").Add(1e7)
	values := map[string]float64{"": 0, hostile: -1.5, "inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN(), "small": 1e-9}
	r.OnScrape(func(s *metrics.Scrape) {
		for name, v := range values {
			s.Set(left, 17, name) // what is set last counts
			s.Set(left, v, name)
		}
	})
	for name, v := range values {
		theirLeft.WithLabelValues(name).Set(v)
	}
	if diff := cmp.Diff(text(t, own), written(t, &r)); diff != "" {
		t.Errorf("text (-client_golang +ours):\n%s", diff)
	}
}

// text returns what client_golang writes.
func text(t *testing.T, from prometheus.Gatherer) string {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatalf("gather: %v", err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatalf("text of %s: %v", f.GetName(), err)
		}
	}
	return b.String()
}

func written(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	var b strings.Builder
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatalf("WriteTo: %v", err)
	}
	return b.String()
}

func FuzzLabels_AreReadAsTheyAre(f *testing.F) {
	f.Add("work", "gpt-5")
	f.Add("\xff", "\xff\xff")
	f.Add("a\\", "\n\"")
	f.Fuzz(func(t *testing.T, a, b string) {
		var r metrics.Registry
		r.Counters("n_total", "N.", "a", "b").With(a, b).Inc()
		g := r.Gauges("g", "G.", "a", "b")
		r.OnScrape(func(s *metrics.Scrape) { s.Set(g, 1, a, b) })
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(written(t, &r)))
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		for name, family := range families {
			for i, want := range []string{a, b} {
				if got := family.GetMetric()[0].GetLabel()[i].GetValue(); got != strings.ToValidUTF8(want, "?") {
					t.Errorf("label %d of %s: got %q, want %q", i, name, got, want)
				}
			}
		}
	})
}

func TestHandler_CompressesAndBoundsScrapes(t *testing.T) {
	var r metrics.Registry
	entered, leave := make(chan struct{}), make(chan struct{})
	r.OnScrape(func(*metrics.Scrape) { entered <- struct{}{}; <-leave })
	r.CounterFunc("n_total", "N.", func() float64 { return 7 })
	h := r.Handler()
	var scrapes sync.WaitGroup
	answers := make([]*httptest.ResponseRecorder, 4)
	for i := range answers {
		answers[i] = httptest.NewRecorder()
		scrapes.Go(func() {
			q := httptest.NewRequest("GET", "/", nil)
			q.Header.Set("Accept-Encoding", "gzip")
			h.ServeHTTP(answers[i], q)
		})
		<-entered
	}
	fifth := httptest.NewRecorder()
	h.ServeHTTP(fifth, httptest.NewRequest("GET", "/", nil))
	if fifth.Code != 503 {
		t.Errorf("a fifth scrape: status %d, want 503", fifth.Code)
	}
	close(leave)
	scrapes.Wait()
	for _, w := range answers {
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatalf("gzip: %v", err)
		}
		if body, err := io.ReadAll(z); err != nil || !strings.HasSuffix(string(body), "\nn_total 7\n") {
			t.Errorf("scrape: %q, %v, want it to end in n_total 7", body, err)
		}
	}
}

func TestMetrics_CountConcurrently(t *testing.T) {
	var r metrics.Registry
	n, h := r.Counters("n_total", "N.", "a"), r.Histograms("h", "H.", []float64{1}, "a")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				n.With("x").Inc()
				h.With("x").Observe(1)
			}
			written(t, &r)
		})
	}
	all.Wait()
	if got := written(t, &r); !strings.Contains(got, `n_total{a="x"} 8000`) || !strings.Contains(got, `h_bucket{a="x",le="1"} 8000`) || !strings.Contains(got, `h_sum{a="x"} 8000`) {
		t.Errorf("after 8000: %s", got)
	}
}

func TestRegistry_RefusesMistakesOfTheProgram(t *testing.T) {
	var r metrics.Registry
	c := r.Counters("n_total", "N.", "a")
	g := r.Gauges("g", "G.", "a", "b")
	for what, f := range map[string]func(){
		"a second metric of a name":   func() { r.Gauges("n_total", "N.") },
		"a counter with two values":   func() { c.With("x", "y") },
		"a gauge with too few labels": func() { new(metrics.Scrape).Set(g, 1, "x") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}()
	}
}

func BenchmarkCount(b *testing.B) {
	var r metrics.Registry
	ours := r.Counters("n_total", "N.", "face", "upstream", "model").With("gateway", "work", "gpt-5")
	h := r.Histograms("h", "H.", []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}, "face").With("gateway")
	theirs := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "n_total"}, []string{"face", "upstream", "model"}).WithLabelValues("gateway", "work", "gpt-5")
	theirH := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "h", Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}}, []string{"face"}).WithLabelValues("gateway")
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			ours.Inc()
			h.Observe(0.7)
		}
	})
	b.Run("client_golang", func(b *testing.B) {
		for b.Loop() {
			theirs.Inc()
			theirH.Observe(0.7)
		}
	})
}

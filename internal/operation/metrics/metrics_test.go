package metrics_test

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ridethrough/ridethrough/internal/operation/metrics"
)

func written(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: status %d, %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestScrape_WhatIsSetLastCounts(t *testing.T) {
	var r metrics.Registry
	left, n := r.Gauges("left", "Left.", "model"), 0
	r.OnScrape(func(s *metrics.Scrape) {
		n++
		s.Set(left, 17, "a")
		s.Set(left, float64(n), "a")
		if n == 1 {
			s.Set(left, 1, "gone\xff")
		}
	})
	const head = "# HELP left Left.\n# TYPE left gauge\n"
	for _, want := range []string{head + "left{model=\"a\"} 1\nleft{model=\"gone?\"} 1\n", head + "left{model=\"a\"} 2\n"} {
		if got := written(t, &r); got != want {
			t.Errorf("scrape %d: got %s, want %s", n, got, want)
		}
	}
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
	for what, f := range map[string]func(){
		"a second metric of a name": func() { r.Gauges("n_total", "N.") },
		"a counter with two values": func() { c.With("x", "y") },
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

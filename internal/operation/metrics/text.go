package metrics

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// line is a sample as it is written. Its order keeps the buckets of a histogram ascending and together.
type line struct {
	of   []string // its labels, by which lines are sorted
	n    int      // in the order of the metric
	text string
}

// WriteTo writes all metrics, sorted by name and labels.
func (r *Registry) WriteTo(w io.Writer) (int64, error) {
	scrape := &Scrape{set: map[string]map[string]float64{}}
	for _, collect := range r.collectors {
		collect(scrape)
	}
	var b bytes.Buffer
	for _, f := range slices.SortedFunc(slices.Values(r.families), func(a, b *family) int { return strings.Compare(a.name, b.name) }) {
		lines := f.lines(scrape)
		if len(lines) == 0 {
			continue
		}
		b.WriteString("# HELP " + f.name + " " + helpEscapes.Replace(f.help) + "\n# TYPE " + f.name + " " + f.kind + "\n")
		for _, l := range lines {
			b.WriteString(l.text)
		}
	}
	return b.WriteTo(w)
}

// lines returns the samples of a family, sorted.
func (f *family) lines(s *Scrape) (all []line) {
	add := func(suffix string, values []string, bound string, v float64) {
		of := f.sorted(values)
		all = append(all, line{of: of, n: len(all), text: f.name + suffix + labelled(of, bound) + " " + number(v) + "\n"})
	}
	if f.read != nil {
		f.read(add)
	}
	for key, v := range s.set[f.name] {
		var values []string
		if len(f.labels) > 0 {
			values = strings.Split(key, separator)
		}
		add("", values, "", v)
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(slices.Compare(all[i].of, all[j].of), cmp.Compare(all[i].n, all[j].n)) < 0
	})
	return all
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// sorted returns the labels, as name and value in turns, by name.
func (f *family) sorted(values []string) []string {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(f.labels[a], f.labels[b]) })
	all := make([]string, 0, 2*len(values)+2)
	for _, i := range order {
		all = append(all, f.labels[i], values[i])
	}
	return all
}

// labelled returns labels in braces, with the bound of a bucket last; "": there are none.
func labelled(labels []string, bound string) string {
	if bound != "" {
		labels = append(labels, "le", bound)
	}
	var b strings.Builder
	for i := 0; i < len(labels); i += 2 {
		b.WriteString(string("{,"[min(i, 1)]) + labels[i] + `="` + valueEscapes.Replace(labels[i+1]) + `"`)
	}
	if b.Len() > 0 {
		b.WriteByte('}')
	}
	return b.String()
}

// number returns a value as the format has it.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// maxScrapes bounds the scrapes in progress.
const maxScrapes = 4

// Handler serves the metrics. Scrapes beyond four at a time are answered with 503.
func (r *Registry) Handler() http.Handler {
	places := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			http.Error(w, "too many scrapes at a time", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Vary", "Accept-Encoding")
		if !strings.Contains(q.Header.Get("Accept-Encoding"), "gzip") {
			_, _ = r.WriteTo(w)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = r.WriteTo(z)
		_ = z.Close()
	})
}

package figure_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
)

func TestMedian_IsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 3, 100}, 3.5},
		{[]float64{-1, -5}, -3},
		{nil, math.NaN()},
		{[]float64{1, math.NaN(), 2}, math.NaN()},
	} {
		if got := figure.Median(c.values); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("median of %v: got %v, want %v", c.values, got, c.want)
		}
	}
}

func TestMedian_DoesNotChangeItsArgument(t *testing.T) {
	values := []float64{3, 1, 2}
	figure.Median(values)
	if values[0] != 3 || values[1] != 1 {
		t.Errorf("now %v", values)
	}
}

func TestPeak_IsTheFullestSpan(t *testing.T) {
	for _, c := range []struct {
		moments []float64
		length  float64
		want    int
	}{
		{nil, 100, 0},
		{[]float64{5}, 100, 1},
		{[]float64{0, 100}, 100, 1}, // the end of a span is the next one's
		{[]float64{0, 99}, 100, 2},
		{[]float64{250, 0, 240, 95, 190, 199}, 100, 4}, // 190 to 250, across the tidy hundreds
		{[]float64{7, 7, 7}, 100, 3},
	} {
		if got := figure.Peak(c.moments, c.length); got != c.want {
			t.Errorf("peak of %v per %v: got %d, want %d", c.moments, c.length, got, c.want)
		}
	}
}

func TestFigure_RatiosArePerRound(t *testing.T) {
	f := figure.Figure{Ours: []float64{10, 40, 9}, Base: []float64{20, 50, 10}, PerBase: true}
	if got := f.Value(); got != 0.8 { // the median of 0.5, 0.8 and 0.9, not 10/20
		t.Errorf("got %v", got)
	}
	f.PerBase = false
	if got := f.Value(); got != 10 {
		t.Errorf("as it is: got %v", got)
	}
}

func TestFigure_Verdict(t *testing.T) {
	none := figure.Bound{}
	for _, c := range []struct {
		value      float64
		gate, goal figure.Bound
		want       figure.Verdict
	}{
		{0.50, figure.AtMost(0.8), figure.AtMost(0.5), figure.Goal},
		{0.51, figure.AtMost(0.8), figure.AtMost(0.5), figure.Gate},
		{0.80, figure.AtMost(0.8), figure.AtMost(0.5), figure.Gate},
		{0.81, figure.AtMost(0.8), figure.AtMost(0.5), figure.Noise},
		{0.91, figure.AtMost(0.8), figure.AtMost(0.5), figure.Noise},
		{0.93, figure.AtMost(0.8), figure.AtMost(0.5), figure.Missed},
		{80, none, figure.AtMost(80), figure.Goal},
		{81, none, figure.AtMost(80), figure.Short},
		{0, figure.AtMost(0), figure.AtMost(0), figure.Goal}, // a bound of nothing is a bound
		{1, figure.AtMost(0), figure.AtMost(0), figure.Missed},
		{1, none, none, figure.Open},
		{math.NaN(), figure.AtMost(1), figure.AtMost(1), figure.None},
	} {
		f := figure.Figure{Ours: []float64{c.value}, Gate: c.gate, Goal: c.goal}
		if got := f.Verdict(); got != c.want {
			t.Errorf("%v with gate %v and goal %v: got %q, want %q", c.value, c.gate, c.goal, got, c.want)
		}
	}
}

func TestFigure_WithoutRoundsIsNoSuccess(t *testing.T) {
	for name, f := range map[string]figure.Figure{
		"no round":         {},
		"no baseline":      {Ours: []float64{1, 1}, PerBase: true},
		"baseline of zero": {Ours: []float64{1, 1}, Base: []float64{0, 0}, PerBase: true},
		"negative":         {Ours: []float64{1, 1}, Base: []float64{-1, -1}, PerBase: true},
		"mostly senseless": {Ours: []float64{1, 1, 1}, Base: []float64{0, -4, 2}, PerBase: true},
	} {
		f.Gate, f.Goal = figure.AtMost(10), figure.AtMost(10)
		if got := f.Verdict(); got != figure.None {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestFigure_IgnoresInvalidRounds(t *testing.T) {
	f := figure.Figure{Ours: []float64{1, 1, 3}, Base: []float64{2, 0, 2}, PerBase: true}
	if got := f.Value(); got != 1 {
		t.Errorf("got %v, want the median of 0.5 and 1.5", got)
	}
}

func TestFigure_IgnoresEmptyRounds(t *testing.T) {
	nan := math.NaN()
	f := figure.Figure{Row: "r", Ours: []float64{nan, 4, 6}, Base: []float64{10, nan, 10}, PerBase: true}
	if got := f.Value(); !math.IsNaN(got) {
		t.Errorf("one of three: got %v", got)
	}
	f.Base[1] = 10
	if got := f.Value(); got != 0.5 {
		t.Errorf("two of three: got %v", got)
	}
	var b strings.Builder
	if err := figure.Table(&b, []figure.Figure{f}); err != nil || !strings.Contains(b.String(), " 5 ") {
		t.Errorf("Table: got %s and error %v, want the figure 5", b.String(), err)
	}
}

func TestJSON_NullForMissingNumbers(t *testing.T) {
	var b bytes.Buffer
	if err := figure.JSON(&b, []figure.Figure{{Row: "r", Ours: []float64{math.NaN()}, Goal: figure.AtMost(0)}}); err != nil {
		t.Fatalf("JSON: %v", err)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	if got["value"] != nil || got["gate"] != nil || got["goal"] != 0.0 || got["verdict"] != "NO FIGURE" {
		t.Errorf("got %s", b.String())
	}
}

func TestTable_NotesNameTheirRow(t *testing.T) {
	var b strings.Builder
	err := figure.Table(&b, []figure.Figure{{Row: "cpu-1k", Ours: []float64{1}, Notes: []string{"the machine was busy"}}})
	if err != nil || !strings.Contains(b.String(), "* cpu-1k: the machine was busy\n") {
		t.Errorf("Table: got %s and error %v, want the note", b.String(), err)
	}
}

func TestMarkdown_HasAColumnForEachProxy(t *testing.T) {
	var b strings.Builder
	figures := []figure.Figure{
		{Name: "CPU", Unit: "µs", PerBase: true, Ours: []float64{50, 60}, Base: []float64{100, 100}, Peers: []figure.Series{{Name: "nginx", Rounds: []float64{20, 40}}}},
		{Name: "memory", Unit: "KB", Ours: []float64{28}},
	}
	if err := figure.Markdown(&b, figures); err != nil {
		t.Fatalf("markdown: %v", err)
	}
	want := `|  | ridethrough | plain proxy | nginx |
| --- | --- | --- | --- |
| CPU | 55 µs (0.55 ×) | 100 µs | 30 µs (0.30 ×) |
| memory | 28 KB | – | – |
`
	if b.String() != want {
		t.Errorf("table for a page: got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestQuantile_IsWhatAShareDoesNotExceed(t *testing.T) {
	for _, c := range []struct{ share, want float64 }{{0, 1}, {0.5, 3}, {0.99, 4}, {1, 4}} {
		if got := figure.Quantile([]float64{4, 1, 3, 2}, c.share); got != c.want {
			t.Errorf("quantile %v of 1 to 4: got %v, want %v", c.share, got, c.want)
		}
	}
	if got := figure.Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("quantile of nothing: got %v, want NaN", got)
	}
}

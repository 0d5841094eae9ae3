package figure_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
)

const aPage = `# Beside others

<!-- bench about -->
An old run.
<!-- end -->

Text that stays.

<!-- bench rows: cpu callers/2
columns: ridethrough, plain proxy as ReverseProxy, nginx -->
| old |
<!-- end -->

<!-- bench rows: cpu
columns: plain proxy -->
<!-- end -->
`

func pageFigures() []figure.Figure {
	cpu := figure.Figure{Row: "cpu", Name: "CPU", Unit: "µs", PerBase: true}
	for side, value := range map[string]float64{"ours": 50, "baseline": 100, "nginx": 30} {
		cpu.Add(side, value)
	}
	return []figure.Figure{
		cpu,
		{Row: "callers", Name: "median", Unit: "µs", Ours: []float64{1}},
		{Row: "callers", Name: "99 %", Unit: "µs", Ours: []float64{2}},
	}
}

func TestPage_TablesAreThoseOfTheRun(t *testing.T) {
	const want = `# Beside others

<!-- bench about -->
A new run.
<!-- end -->

Text that stays.

<!-- bench rows: cpu callers/2
columns: ridethrough, plain proxy as ReverseProxy, nginx -->
|  | ridethrough | ReverseProxy | nginx |
| --- | --- | --- | --- |
| CPU | 50 µs (0.50 ×) | 100 µs | 30 µs (0.30 ×) |
| 99 % | 2 µs | – | – |
<!-- end -->

<!-- bench rows: cpu
columns: plain proxy -->
|  | plain proxy |
| --- | --- |
| CPU | 100 µs |
<!-- end -->
`
	got, err := figure.FillPage(aPage, "A new run.", pageFigures())
	if err != nil || got != want {
		t.Errorf("page after a run: %v, got\n%s\nwant\n%s", err, got, want)
	}
	if again, err := figure.FillPage(got, "A new run.", pageFigures()); err != nil || again != want {
		t.Errorf("page after a second run: %v, got\n%s\nwant\n%s", err, again, want)
	}
	if rows, err := figure.PageRows(aPage); err != nil || !slices.Equal(rows, []string{"cpu", "callers"}) {
		t.Errorf("rows of the page: got %q, %v; want cpu and callers", rows, err)
	}
}

func TestPage_IsNotFilledInPart(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"callers/2", "callers/3", `row "callers/3": the run has 2 figures`},
		{"callers/2", "added", `row "added": the run has 0 figures`},
		{"callers/2", "callers/two", "two"},
		{", nginx", ", haproxy", `no figures of "haproxy"`},
		{"columns: plain", "colums: plain", "is no section"},
	} {
		if _, err := figure.FillPage(strings.ReplaceAll(aPage, tt.from, tt.to), "", pageFigures()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("page with %q: got %v, want an error with %q", tt.to, err, tt.want)
		}
	}
	if rows, err := figure.PageRows("# no tables\n"); err == nil {
		t.Errorf("rows of a page without tables: got %q, want an error", rows)
	}
}

func TestFigure_AddsToTheSideThatIsNamed(t *testing.T) {
	var f figure.Figure
	for i, side := range []string{"ours", "baseline", "nginx", "haproxy", "nginx", "ours"} {
		f.Add(side, float64(i))
	}
	if !slices.Equal(f.Ours, []float64{0, 5}) || !slices.Equal(f.Base, []float64{1}) || len(f.Peers) != 2 ||
		!slices.Equal(f.Peers[0].Rounds, []float64{2, 4}) || !slices.Equal(f.Peers[1].Rounds, []float64{3}) {
		t.Errorf("figure of six values: got %+v, want ours 0 and 5, baseline 1, nginx 2 and 4, haproxy 3", f)
	}
}

package figure_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
)

// Three rounds in which we and the baseline were measured next to each other:
// the machine was twice as slow in the second, which the ratio does not see.
func ExampleFigure() {
	f := figure.Figure{
		Row: "cpu-1k", Name: "CPU of a request", Unit: "µs",
		Ours: []float64{30, 58, 31}, Base: []float64{45, 90, 44}, PerBase: true,
		Gate: figure.AtMost(0.8), Goal: figure.AtMost(0.5),
	}
	fmt.Printf("%.2f %s\n", f.Value(), f.Verdict())
	// Output: 0.67 gate
}

func ExampleTable() {
	var b strings.Builder
	_ = figure.Table(&b, []figure.Figure{{
		Row: "idle", Name: "PSS", Unit: "MB", Ours: []float64{9.5, 9.7, 9.6}, Base: []float64{6.3, 6.3, 6.4},
		Gate: figure.AtMost(40), Goal: figure.AtMost(30),
	}})
	for line := range strings.Lines(b.String()) {
		fmt.Println(strings.TrimSpace(line))
	}
	// Output:
	// row   what  ours     baseline  judged (rounds)      gate  goal  verdict
	// idle  PSS   9.60 MB  6.30 MB   9.60 (9.50–9.70, 3)  ≤ 40  ≤ 30  goal
}

func ExampleJSON() {
	_ = figure.JSON(os.Stdout, []figure.Figure{{Row: "idle", Name: "PSS", Unit: "MB", Ours: []float64{9.5}, Goal: figure.AtMost(30)}})
	// Output: {"row":"idle","name":"PSS","unit":"MB","ours":[9.5],"baseline":[],"ratio":false,"value":9.5,"gate":null,"goal":30,"verdict":"goal"}
}

func ExampleAtMost() {
	fmt.Println(figure.AtMost(0.85), figure.Bound{})
	// Output: ≤ 0.85 -
}

func ExampleMedian() {
	fmt.Println(figure.Median([]float64{9, 1, 2}))
	// Output: 2
}

func ExamplePeak() {
	fmt.Println(figure.Peak([]float64{0, 90, 110, 180}, 100))
	// Output: 3
}

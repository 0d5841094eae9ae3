//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
)

// libraryPeers runs the benchmark that compares libraries. It is a module of its own, which requires them.
func libraryPeers(ctx context.Context, b *bench) ([]figure.Figure, error) {
	if err := b.cores.Keep(); err != nil { // the row before may have left this process with fewer
		return nil, err
	}
	text, err := output(exec.CommandContext(ctx, "go", "-C", filepath.Join(b.root, "test", "sdk"), "test",
		"-run", "^$", "-bench", "^BenchmarkLibrary$", "-count", pick(b, "5", "3")))
	if err != nil {
		return nil, err
	}
	return libraryFigures(text)
}

// libraryFigures parses the output of a benchmark: its client without a library is the baseline.
func libraryFigures(text string) ([]figure.Figure, error) {
	figures := []figure.Figure{{Name: "time of a call", Unit: "ns"}, {Name: "bytes allocated", Unit: "B"}, {Name: "allocations"}}
	units := []string{"ns/op", "B/op", "allocs/op"}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		side, ok := strings.CutPrefix(words[0], "BenchmarkLibrary/")
		if !ok {
			continue
		}
		if i := strings.LastIndex(side, "-"); i > 0 { // the number of processors, if there are more than one
			if _, err := strconv.Atoi(side[i+1:]); err == nil {
				side = side[:i]
			}
		}
		if side == "bare" {
			side = "baseline"
		}
		for i, unit := range units {
			value, err := before(words, unit)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", strings.TrimSpace(line), err)
			}
			figures[i].Add(side, value)
		}
	}
	if len(figures[0].Ours) == 0 || len(figures[0].Base) == 0 {
		return nil, fmt.Errorf("the benchmark has no figures of ours or of the client alone:\n%s", text)
	}
	return figures, nil
}

func before(words []string, unit string) (float64, error) {
	for i, w := range words {
		if w == unit && i > 0 {
			return strconv.ParseFloat(words[i-1], 64)
		}
	}
	return 0, fmt.Errorf("there is no %s", unit)
}

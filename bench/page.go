//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/internal/prose"
)

// page is the file whose tables a run fills; "": none.
type page string

// rows are those that the page shows, besides the others that are asked for.
func (p page) rows(only []string) ([]string, error) {
	if p == "" {
		return only, nil
	}
	text, err := os.ReadFile(string(p))
	if err != nil {
		return nil, err
	}
	shown, err := figure.PageRows(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return slices.Compact(slices.Sorted(slices.Values(append(shown, only...)))), nil
}

// fill writes the figures into the page.
func (p page) fill(about string, figures []figure.Figure) error {
	if p == "" {
		return nil
	}
	text, err := os.ReadFile(string(p))
	if err != nil {
		return err
	}
	filled, err := figure.FillPage(string(text), about, figures)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return os.WriteFile(string(p), []byte(filled), 0o644)
}

// about says when, on what and of what a run was.
func (b *bench) about() string {
	text := fmt.Sprintf("One run of %.0f minutes on %s, by %s on %d processors, with a load of %s before it. ridethrough is %s",
		time.Since(b.began).Minutes(), b.began.Format("2 January 2006"), runtime.Version(), runtime.NumCPU(), b.load, b.version)
	for _, m := range b.peers {
		if v := m.version(); v != "" {
			text += ", " + m.Name + " “" + v + "”"
		}
	}
	return prose.Wrap(text+".", prose.Columns)
}

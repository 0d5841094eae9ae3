//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/proc"
)

// latency measures what a proxy adds to the median time of an answer, or to
// that of its first token, with clients that do not wait for each other.
type latency struct {
	what       string
	ask        load.Ask
	clients    int
	rate       int // requests in a second
	value      func(load.Sample) time.Duration
	gate, goal float64
}

func (m latency) run(row string) func(context.Context, *bench) ([]figure.Figure, error) {
	return func(ctx context.Context, b *bench) (_ []figure.Figure, err error) {
		s, err := b.stage(row, "patient", "ours", "baseline")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		sides := []*proc.Process{s.upstream, s.ours, s.baseline}
		p50s, late := make([][]float64, len(sides)), 0
		loops := make([]*load.Open, len(sides))
		for i, p := range sides {
			if loops[i], err = load.NewOpen(p.Addr, s.requests(p, m.clients, m.ask), m.ask.Stream); err != nil {
				return nil, err
			}
			defer loops[i].Close()
		}
		rounds := pick(b, 15, 5)
		for round := range rounds + 1 { // the first one warms up
			for k := range sides {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				i := (k + round) % len(sides)
				p50, n, err := m.round(loops[i])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", sides[i].Name, err)
				}
				if round > 0 {
					p50s[i], late = append(p50s[i], p50), late+n
				}
			}
		}
		return []figure.Figure{m.figure(p50s[0], p50s[1], p50s[2], late, rounds*len(sides)*m.rate/2)}, nil
	}
}

// round sends half a second's requests and gives the median in µs, and how many were sent late.
func (m latency) round(o *load.Open) (p50 float64, late int, err error) {
	samples, err := o.Run(m.rate/2, time.Second/time.Duration(m.rate))
	if err != nil {
		return 0, 0, err
	}
	for _, s := range samples {
		if s.Late > time.Millisecond {
			late++
		}
	}
	return figure.Median(each(samples, func(s load.Sample) float64 { return float64(m.value(s)) / 1e3 })), late, nil
}

// figure sums the rounds up: what is added is the difference to the upstream itself in the same round.
func (m latency) figure(direct, ours, base []float64, late, sent int) figure.Figure {
	f := figure.Figure{Name: m.what, Unit: "µs", PerBase: true, Gate: figure.AtMost(m.gate), Goal: figure.AtMost(m.goal)}
	for i := range direct {
		f.Ours = append(f.Ours, ours[i]-direct[i])
		f.Base = append(f.Base, base[i]-direct[i])
	}
	f.Notes = []string{fmt.Sprintf("without a proxy %.0f µs", figure.Median(direct))}
	if late*20 > sent {
		f.Notes = append(f.Notes, fmt.Sprintf("%d of %d requests were sent more than 1 ms late: THE CLIENTS OR THE MACHINE WERE TOO BUSY", late, sent))
	}
	return f
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

// latency measures what a proxy adds to the time of an answer, or to that of its
// first token.
type latency struct {
	what       string
	ask        load.Ask
	link       peer.Link
	clients    int
	rate       int // requests in a second, whether or not they are answered; 0: each client asks when it is answered
	value      func(load.Sample) time.Duration
	gate, goal float64 // of the median
	tail       float64 // the goal of the 99th of a hundred; 0: none
}

// span is how long a round sends, and warm how long before it begins to count.
const (
	span = 500 * time.Millisecond
	warm = 100 * time.Millisecond
)

type times struct {
	name   string
	rounds [][]float64
	late   int // requests that were sent late
}

func (m latency) run(row string) func(context.Context, *bench) ([]figure.Figure, error) {
	return func(ctx context.Context, b *bench) (_ []figure.Figure, err error) {
		s, err := b.stage(row, setup{link: m.link, page: true}, "ours", "baseline", "peers")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		sides := append([]*Process{s.upstream}, s.sides()...)
		seen, send := make([]times, len(sides)), make([]func() ([]load.Sample, error), len(sides))
		for i, p := range sides {
			seen[i].name = p.Name
			requests := s.requests(p, m.clients, m.ask)
			if send[i], err = m.sender(p.Addr, requests); err != nil {
				return nil, err
			}
		}
		for round := range pick(b, 15, 5) + 1 { // the first one warms up
			for k := range sides {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				i := (k + round) % len(sides)
				samples, err := send[i]()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", sides[i].Name, err)
				}
				if round > 0 {
					seen[i].add(samples, m.value)
				}
			}
		}
		return m.figures(seen), nil
	}
}

func (m latency) sender(addr string, requests []*load.Request) (func() ([]load.Sample, error), error) {
	if m.rate == 0 {
		return func() ([]load.Sample, error) { return load.Rush(addr, requests, m.ask.Stream, warm, span) }, nil
	}
	o, err := load.NewOpen(addr, requests, m.ask.Stream) // its connections end with the process they lead to
	if err != nil {
		return nil, err
	}
	n := int(float64(m.rate) * span.Seconds())
	return func() ([]load.Sample, error) { return o.Run(n, time.Second/time.Duration(m.rate)) }, nil
}

func (t *times) add(samples []load.Sample, value func(load.Sample) time.Duration) {
	round := each(samples, func(s load.Sample) float64 { return float64(value(s)) / 1e3 })
	t.rounds = append(t.rounds, round)
	for _, s := range samples {
		if s.Late > time.Millisecond {
			t.late++
		}
	}
}

func (t times) all() []float64 { return slices.Concat(t.rounds...) }

// figures sums up the rounds: the figure is the difference to the upstream itself in the same round. One request in
// a thousand is too few for a round, so all rounds are taken together.
func (m latency) figures(sides []times) []figure.Figure {
	median := m.added(sides, ", median", quantiles(0.5))
	median.Gate, median.Goal = bound(m.gate), bound(m.goal)
	median.Notes = []string{fmt.Sprintf("without a proxy %.0f µs", figure.Median(each(sides[0].rounds, figure.Median)))}
	late, sent := 0, 0
	for _, t := range sides {
		late, sent = late+t.late, sent+len(t.all())
	}
	if late*20 > sent {
		median.Notes = append(median.Notes, fmt.Sprintf("%d of %d requests were sent more than 1 ms late: THE CLIENTS OR THE MACHINE WERE TOO BUSY", late, sent))
	}
	p99 := m.added(sides, ", 99 %", quantiles(0.99))
	p99.Goal = bound(m.tail)
	all := []figure.Figure{median, p99, m.added(sides, ", 99.9 %", func(t times) []float64 { return []float64{figure.Quantile(t.all(), 0.999)} })}
	if m.rate == 0 {
		all = append(all, m.answers(sides))
	}
	return all
}

func quantiles(q float64) func(times) []float64 {
	return func(t times) []float64 {
		return each(t.rounds, func(round []float64) float64 { return figure.Quantile(round, q) })
	}
}

func (m latency) added(sides []times, what string, of func(times) []float64) figure.Figure {
	direct := of(sides[0])
	minus := func(t times) []float64 {
		values := of(t)
		for i := range values {
			values[i] -= direct[i]
		}
		return values
	}
	return compare(figure.Figure{Name: m.what + what, Unit: "µs", PerBase: true}, sides, minus)
}

func (m latency) answers(sides []times) figure.Figure {
	return compare(figure.Figure{Name: fmt.Sprintf("answers in a second, %d at a time (more is better)", m.clients), PerBase: true}, sides, func(t times) []float64 {
		return each(t.rounds, func(round []float64) float64 { return float64(len(round)) / span.Seconds() })
	})
}

// compare fills a figure with one value per proxy. The first is ours and the second the baseline.
func compare(f figure.Figure, sides []times, of func(times) []float64) figure.Figure {
	f.Ours, f.Base = of(sides[1]), of(sides[2])
	for _, t := range sides[3:] {
		f.Peers = append(f.Peers, figure.Series{Name: t.name, Rounds: of(t)})
	}
	return f
}

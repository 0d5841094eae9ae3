//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
	"github.com/ridethrough/ridethrough/retry"
)

// cpu measures processor time per answer or per event, with clients that ask
// again as soon as they are answered.
type cpu struct {
	what       string
	ask        load.Ask
	clients    int
	events     bool // counts events, not answers
	link       peer.Link
	free       bool // not on one processor
	gate, goal float64
}

type use struct {
	each    float64 // µs of the proxy for one answer or event
	rate    float64 // answers or events in a second
	proxy   float64 // processors that the proxy kept busy
	clients float64 // and our own process, the clients
}

func (c cpu) run(row string) func(context.Context, *bench) ([]figure.Figure, error) {
	return func(ctx context.Context, b *bench) (_ []figure.Figure, err error) {
		s, err := b.stage(row, setup{link: c.link, free: c.free, page: true}, "ours", "baseline", "peers")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		sides := s.sides()
		uses := make([][]use, len(sides))
		asked := make([][]*load.Request, len(sides))
		for i, p := range sides {
			asked[i] = s.requests(p, c.clients, c.ask)
		}
		for round := range pick(b, 15, 5) {
			for k := range sides {
				i := (k + round) % len(sides) // neither is always the first
				u, err := c.round(ctx, b, sides[i], asked[i])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", sides[i].Name, err)
				}
				uses[i] = append(uses[i], u)
			}
		}
		f := c.figure(uses[0], uses[1])
		for i, p := range s.peers {
			f.Peers = append(f.Peers, figure.Series{Name: p.Name, Rounds: each(uses[i+2], func(u use) float64 { return u.each })})
		}
		return []figure.Figure{f}, nil
	}
}

// round runs the clients against one proxy. They warm up before the clock starts, and keep asking until it has
// stopped.
func (c cpu) round(ctx context.Context, b *bench, p *Process, asked []*load.Request) (u use, err error) {
	l, err := load.NewLoop(p.Addr, asked, c.ask.Stream)
	if err != nil {
		return u, err
	}
	defer func() {
		stop := l.Stop
		if c.events { // its streams have no end
			stop = l.Cut
		}
		err = errors.Join(err, stop())
	}()
	if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil {
		return u, err
	}
	before, err := c.read(l, p)
	if err != nil {
		return u, err
	}
	if err := retry.Sleep(ctx, pick(b, 500*time.Millisecond, 400*time.Millisecond)); err != nil {
		return u, err
	}
	after, err := c.read(l, p)
	if err != nil {
		return u, err
	}
	n, wall := float64(after.n-before.n), after.at.Sub(before.at).Seconds()
	proxy, clients := (after.proxy - before.proxy).Seconds(), (after.clients - before.clients).Seconds()
	if n == 0 {
		return use{each: math.NaN()}, nil // the machine had no time for us: the round does not count
	}
	return use{each: proxy / n * 1e6, rate: n / wall, proxy: proxy / wall, clients: clients / wall}, nil
}

type reading struct {
	n              int64
	proxy, clients time.Duration
	at             time.Time
}

func (c cpu) read(l *load.Loop, p *Process) (r reading, err error) {
	if r.proxy, err = p.CPU(); err != nil {
		return r, err
	}
	if r.n = l.Answers(); c.events {
		r.n = l.Events()
	}
	r.at = time.Now()
	r.clients, err = OwnCPU()
	return r, err
}

func (c cpu) figure(ours, base []use) figure.Figure {
	f := figure.Figure{
		Name: c.what, Unit: "µs", PerBase: true, Gate: bound(c.gate), Goal: bound(c.goal),
		Ours: each(ours, func(u use) float64 { return u.each }), Base: each(base, func(u use) float64 { return u.each }),
	}
	for _, side := range []struct {
		name string
		uses []use
	}{{"ours", ours}, {"baseline", base}} {
		rate := figure.Median(each(side.uses, func(u use) float64 { return u.rate }))
		proxy := figure.Median(each(side.uses, func(u use) float64 { return u.proxy }))
		clients := figure.Median(each(side.uses, func(u use) float64 { return u.clients }))
		note := fmt.Sprintf("%s: %.0f/s with %.2f processors, the clients took %.2f", side.name, rate, proxy, clients)
		if clients > proxy {
			note += ": THE CLIENTS ARE THE BOTTLENECK"
		}
		f.Notes = append(f.Notes, note)
	}
	return f
}

func each[T any](rounds []T, value func(T) float64) []float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = value(r)
	}
	return values
}

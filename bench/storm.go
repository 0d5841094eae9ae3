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
)

const (
	crowd  = 500                    // clients
	rush   = 500 * time.Millisecond // in which they come
	outage = 5 * time.Second        // from the first one on
)

type storm struct {
	unanswered float64
	requests   float64 // at the upstream, for each client
	peak       float64 // most requests at the upstream in 100 ms once it is back
	last       float64 // seconds from then to the last answer
}

func storms(row, policy string) func(context.Context, *bench) ([]figure.Figure, error) {
	return func(ctx context.Context, b *bench) (_ []figure.Figure, err error) {
		var ours, base []storm
		for range pick(b, 2, 1) {
			s, err := b.stage(row, setup{policy: policy, free: true, page: true}, "ours", "baseline")
			if err != nil {
				return nil, err
			}
			o, err := weather(s, s.ours)
			z, err2 := weather(s, s.baseline)
			if err := errors.Join(err, err2, s.close(), ctx.Err()); err != nil {
				return nil, err
			}
			ours, base = append(ours, o), append(base, z)
		}
		var figures []figure.Figure
		for _, c := range []struct {
			what, unit string
			most       float64
			value      func(storm) float64
		}{
			{fmt.Sprintf("clients without an answer, of %d", crowd), "", 0, func(s storm) float64 { return s.unanswered }},
			{"requests at the upstream for each client", "", 1.2, func(s storm) float64 { return s.requests }},
			{"most requests in 100 ms after recovery", "", crowd / 5, func(s storm) float64 { return s.peak }},
			{"last answer after recovery", "s", 1, func(s storm) float64 { return s.last }},
		} {
			figures = append(figures, figure.Figure{
				Name: c.what, Unit: c.unit, Gate: figure.AtMost(c.most), Goal: figure.AtMost(c.most), Ours: each(ours, c.value), Base: each(base, c.value),
			})
		}
		return figures, nil
	}
}

func weather(s *stage, p *Process) (storm, error) {
	if err := s.tell(peer.CountsPath); err != nil {
		return storm{}, err
	}
	requests := s.requests(p, crowd, load.Ask{Scene: "bench-refuse-0000000000000", Stream: true, Size: 2 * kb})
	over := time.Now().Add(outage).Truncate(time.Millisecond)
	for _, r := range requests {
		if err := r.Scene(peer.Scene{Kind: peer.Refuse, Until: over}.String()); err != nil {
			return storm{}, err
		}
	}
	arrivals := load.Crowd(p.Addr, requests, rush, outage+30*time.Second)
	counts, err := s.counts()
	if err != nil {
		return storm{}, err
	}
	return sum(arrivals, counts, over), nil
}

// sum counts what a crowd has seen. If a client has no answer, there is no last answer and no recovery with a peak.
func sum(arrivals []load.Arrival, counts peer.Counts, over time.Time) storm {
	var w storm
	for _, a := range arrivals {
		if !a.Answered {
			w.unanswered++
			continue
		}
		w.last = max(w.last, a.End.Sub(over).Seconds())
	}
	var late []float64
	for _, at := range counts.Arrivals {
		if at >= over.UnixMicro() {
			late = append(late, float64(at)/1e3)
		}
	}
	w.requests = float64(counts.Requests) / float64(len(arrivals))
	w.peak = float64(figure.Peak(late, 100))
	if w.unanswered > 0 {
		w.peak, w.last = math.NaN(), math.NaN()
	}
	return w
}

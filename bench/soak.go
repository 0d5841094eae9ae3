//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

const (
	soakRate     = 200 // requests per second
	soakFails    = 33  // per cent of the tries, at random
	soakPatience = time.Minute
	soakSlice    = 10 * time.Second // between two looks at the process
	soakTail     = 6                // slices that are not judged: where the traffic ends, retries get few tokens
)

// level is what the process has at one moment.
type level struct {
	descriptors, pss float64
	runtime          string // what the process says of itself, in a build with profiles
}

// soak sends requests for minutes to an upstream that fails in part. Nothing may
// be left without an answer, and nothing may grow.
func soak(ctx context.Context, b *bench) (_ []figure.Figure, err error) {
	s, err := b.stage("soak", setup{free: true, page: true}, "ours")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var mu sync.Mutex
	var arrivals []load.Arrival
	var sent int
	var levels []level
	var running sync.WaitGroup
	defer running.Wait()
	start, scene := time.Now(), peer.Scene{Kind: peer.Partial, Share: soakFails}
	judged := pick(b, 60, 6)
	for i := range judged + soakTail {
		requests := s.requests(s.ours, soakRate*int(soakSlice/time.Second), load.Ask{Scene: scene.String(), Stream: true, Size: kb})
		if err := pause(ctx, time.Until(start.Add(time.Duration(i)*soakSlice))); err != nil {
			return nil, err
		}
		running.Go(func() {
			seen := load.Crowd(s.ours.Addr, requests, soakSlice, soakPatience)
			mu.Lock()
			defer mu.Unlock()
			if sent += len(seen); i < judged {
				arrivals = append(arrivals, seen...)
			}
		})
		now, err := s.level(ctx)
		if err != nil {
			return nil, err
		}
		levels = append(levels, now)
	}
	running.Wait()
	counts, err := s.counts()
	if err != nil {
		return nil, err
	}
	return soakFigures(arrivals, levels, float64(counts.Requests)/float64(sent)), nil
}

// level looks at the process.
func (s *stage) level(ctx context.Context) (l level, err error) {
	n, err := s.ours.Descriptors()
	pss, err2 := s.ours.PSS()
	if err := errors.Join(err, err2, s.snapshot(ctx, s.ours)); err != nil {
		return l, err
	}
	l = level{descriptors: float64(n), pss: float64(pss) / 1e6}
	if s.bench.profile != "" {
		text, err := os.ReadFile(filepath.Join(s.bench.profile, s.row+".mem"))
		if err != nil {
			return l, err
		}
		l.runtime = strings.TrimSpace(string(text))
	}
	return l, nil
}

// soakFigures compares the last quarter of the time with the second, when all
// pools are full.
func soakFigures(arrivals []load.Arrival, levels []level, requests float64) []figure.Figure {
	var unanswered float64
	var slowest time.Duration
	for _, a := range arrivals {
		if slowest = max(slowest, a.Took); !a.Answered {
			unanswered++
		}
	}
	var notes []string
	for i, l := range levels {
		notes = append(notes, strings.TrimSpace(fmt.Sprintf("%v: %.0f descriptors, %.0f MB, %s", time.Duration(i)*soakSlice, l.descriptors, l.pss, l.runtime)))
	}
	n := len(levels)
	second := levels[n/4 : n/2]
	last := levels[n-len(second):]
	grows := func(what, unit string, notes []string, of func(level) float64) figure.Figure {
		return figure.Figure{
			Name: what + ", last quarter to second", Unit: unit, Ours: each(last, of), Base: each(second, of), PerBase: true,
			Gate: figure.AtMost(1.25), Goal: figure.AtMost(1.1), Notes: notes,
		}
	}
	return []figure.Figure{
		{Name: fmt.Sprintf("not answered in %v, of %d", soakPatience, len(arrivals)), Ours: []float64{unanswered}, Gate: figure.AtMost(0), Goal: figure.AtMost(0)},
		{Name: "slowest answer", Unit: "s", Ours: []float64{slowest.Seconds()}, Gate: figure.AtMost(soakPatience.Seconds()), Goal: figure.AtMost(soakPatience.Seconds())},
		{Name: "requests at the upstream for each client", Ours: []float64{requests}, Gate: figure.AtMost(2), Goal: figure.AtMost(1.6)},
		grows("descriptors", "", nil, func(l level) float64 { return l.descriptors }),
		grows("memory", "MB", notes, func(l level) float64 { return l.pss }),
	}
}

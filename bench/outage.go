//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/figure"
	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

// outageCalls is how many calls are held while their cost is measured.
const outageCalls = 1000

// outageCost measures the processor time that an outage takes of ours, its page open: of calls whose clients get
// nothing until there is an answer, and of streams, whose clients get pings.
func outageCost(ctx context.Context, b *bench) ([]figure.Figure, error) {
	wait := figure.Figure{Name: fmt.Sprintf("CPU of a call held for a minute, of %d", outageCalls), Unit: "ms"}
	pings := figure.Figure{Name: "CPU of 1 000 pings", Unit: "ms"}
	for range pick(b, 3, 1) {
		silent, _, err := outageRound(ctx, b, false)
		if err != nil {
			return nil, err
		}
		pinged, n, err := outageRound(ctx, b, true)
		if err != nil {
			return nil, err
		}
		minutes := float64(outageCalls) * outageSpan(b).Minutes()
		wait.Ours = append(wait.Ours, silent.Seconds()*1e3/minutes)
		pings.Ours = append(pings.Ours, (pinged-silent).Seconds()*1e3/float64(n)*1e3)
	}
	return []figure.Figure{wait, pings}, nil
}

func outageSpan(b *bench) time.Duration { return pick(b, time.Minute, 30*time.Second) }

// outageRound returns the processor time of a while in which calls wait, and how many pings were sent in it.
func outageRound(ctx context.Context, b *bench, stream bool) (used time.Duration, pings int, err error) {
	s, err := b.stage("outage", setup{page: true}, "ours")
	if err != nil {
		return 0, 0, err
	}
	held := &load.Held{}
	defer func() { err = errors.Join(err, held.Close(), s.close()) }()
	ask := load.Ask{Scene: peer.Scene{Kind: peer.Refuse}.String(), Size: 2 * kb, Stream: stream}
	if err := fill(ctx, s, s.ours, held, outageCalls, ask, false); err != nil {
		return 0, 0, err
	}
	if err := pause(ctx, 5*time.Second); err != nil { // the first tries of all
		return 0, 0, err
	}
	if _, err := held.Pings(); err != nil {
		return 0, 0, err
	}
	before, err := s.ours.CPU()
	if err != nil {
		return 0, 0, err
	}
	if err := pause(ctx, outageSpan(b)); err != nil {
		return 0, 0, err
	}
	after, err := s.ours.CPU()
	if err != nil {
		return 0, 0, err
	}
	pings, err = held.Pings()
	if err == nil && stream && pings == 0 {
		err = errors.New("no stream got a ping")
	}
	return after - before, pings, err
}

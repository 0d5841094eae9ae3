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
	"github.com/ridethrough/ridethrough/retry"
)

const outageCalls = 1000

// outageCost measures our processor time during an outage with the page open: of calls whose clients get nothing
// until there is an answer, and of streams whose clients get pings.
func outageCost(ctx context.Context, b *bench) ([]figure.Figure, error) {
	calls := figure.Figure{Name: fmt.Sprintf("CPU of a call held for a minute, of %d", outageCalls), Unit: "ms"}
	streams := figure.Figure{Name: "CPU of a stream held for a minute, with its pings", Unit: "ms"}
	minutes := outageCalls * outageSpan(b).Minutes()
	for range pick(b, 3, 1) {
		silent, _, err := outageRound(ctx, b, false)
		if err != nil {
			return nil, err
		}
		pinged, pings, err := outageRound(ctx, b, true)
		if err != nil {
			return nil, err
		}
		calls.Ours = append(calls.Ours, silent.Seconds()*1e3/minutes)
		streams.Ours = append(streams.Ours, pinged.Seconds()*1e3/minutes)
		streams.Notes = append(streams.Notes, fmt.Sprintf("%.1f pings to each stream in a minute", float64(pings)/minutes))
	}
	return []figure.Figure{calls, streams}, nil
}

func outageSpan(b *bench) time.Duration { return pick(b, time.Minute, 30*time.Second) }

// outageRound returns the processor time used while calls wait, and how many pings were sent.
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
	if err := retry.Sleep(ctx, 5*time.Second); err != nil { // the first tries of all
		return 0, 0, err
	}
	if _, err := held.Pings(); err != nil {
		return 0, 0, err
	}
	if used, err = s.ours.CPUWithin(ctx, outageSpan(b)); err != nil {
		return 0, 0, err
	}
	pings, err = held.Pings()
	if err == nil && stream && pings == 0 {
		err = errors.New("no stream got a ping")
	}
	return used, pings, err
}

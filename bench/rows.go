//go:build linux

package main

import (
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

// rows are all experiments, with the gates and goals that they are held against.
func rows() []row {
	answer := peer.Scene{Kind: peer.Answer}.String()
	stall := peer.Scene{Kind: peer.Stall}.String()
	refuse := peer.Scene{Kind: peer.Refuse}.String()
	stream := func(chunks int, every time.Duration) string {
		return peer.Scene{Kind: peer.Stream, Chunks: chunks, Every: every}.String()
	}
	first := func(s load.Sample) time.Duration { return s.First }
	whole := func(s load.Sample) time.Duration { return s.Whole }
	const never = 24 * time.Hour

	var all []row
	for _, r := range []struct {
		name string
		cpu
	}{
		{"cpu-1k", cpu{what: "CPU of a request, 1 KB", ask: load.Ask{Scene: answer, Size: kb}, clients: 32, gate: 0.80, goal: 0.50}},
		{"cpu-64k", cpu{what: "CPU of a request, 64 KB", ask: load.Ask{Scene: answer, Size: 64 * kb}, clients: 32, gate: 0.90, goal: 0.55}},
		{"cpu-512k", cpu{what: "CPU of a request, 512 KB", ask: load.Ask{Scene: answer, Size: 512 * kb}, clients: 16, gate: 1.0, goal: 0.65}},
		{"chunk", cpu{what: "CPU of a chunk, 100 streams, 5 000/s", ask: load.Ask{Scene: stream(1e6, 20*time.Millisecond), Size: kb, Stream: true}, clients: 100, events: true, gate: 1.0, goal: 0.85}},
		{"coalesced", cpu{what: "CPU of a stream of 50 coalesced chunks", ask: load.Ask{Scene: stream(50, 0), Size: kb, Stream: true}, clients: 32, gate: 0.95, goal: 0.70}},
	} {
		all = append(all, row{name: r.name, run: r.cpu.run(r.name)})
	}
	for _, r := range []struct {
		name string
		latency
	}{
		{"added", latency{what: "added to the median, 500/s", ask: load.Ask{Scene: answer, Size: kb}, clients: 20, rate: 500, value: whole, gate: 0.9, goal: 0.7}},
		{"first-token", latency{what: "added to the first token's median", ask: load.Ask{Scene: stream(10, 5*time.Millisecond), Size: kb, Stream: true}, clients: 40, rate: 200, value: first, gate: 1.0, goal: 0.85}},
	} {
		all = append(all, row{name: r.name, run: r.latency.run(r.name)})
	}
	for _, r := range []struct {
		name string
		memory
	}{
		{"held-2k", memory{what: "held upstream, 2 KB body", ask: load.Ask{Scene: stall, Size: 2 * kb}, full: 2000, quick: 1000, gate: 45, goal: 28}},
		{"held-200k", memory{what: "held upstream, 200 KB body", ask: load.Ask{Scene: stall, Size: 200 * kb}, full: 1000, quick: 300, gate: 280, goal: 232}},
		{"wait-2k", memory{what: "between two tries, 2 KB body", ask: load.Ask{Scene: refuse, Size: 2 * kb}, alone: true, full: 2000, quick: 1000, gate: 66, goal: 28}},
		{"wait-200k", memory{what: "between two tries, 200 KB body", ask: load.Ask{Scene: refuse, Size: 200 * kb}, alone: true, full: 1000, quick: 300, gate: 300, goal: 226}},
		{"live", memory{what: "stream that has begun, 200 KB body", ask: load.Ask{Scene: stream(2, never), Size: 200 * kb, Stream: true}, begins: true, full: 1000, quick: 300, goal: 80}},
		{"crowd", memory{what: "10 000 held streams, 200 KB of prose", ask: load.Ask{Scene: refuse, Size: 200 * kb, Stream: true}, alone: true, full: 10_000, quick: 10_000, total: true, gate: 1000, goal: 1000}},
	} {
		all = append(all, row{name: r.name, long: r.total, run: r.memory.run(r.name)})
	}
	return append(all,
		row{name: "library", run: library},
		row{name: "idle", run: idle},
		row{name: "storm", run: storms("storm", "interactive")},
		row{name: "soak", alone: true, run: soak},
		row{name: "storm-patient", long: true, run: storms("storm-patient", "patient")})
}

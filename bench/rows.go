//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/bench/internal/load"
	"github.com/ridethrough/ridethrough/bench/internal/peer"
)

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
		{"chunk", cpu{what: "CPU of a chunk, 100 streams, 5 000/s", ask: load.Ask{Scene: stream(1e6, 20*time.Millisecond), Size: kb, Stream: true}, clients: 100, events: true, gate: 1.10, goal: 0.95}},
		{"coalesced", cpu{what: "CPU of a stream of 50 coalesced chunks", ask: load.Ask{Scene: stream(50, 0), Size: kb, Stream: true}, clients: 32, gate: 0.95, goal: 0.75}},
		{"chunk-h2", cpu{what: "CPU of a chunk, 100 streams, over HTTP/2", ask: load.Ask{Scene: stream(1e6, 20*time.Millisecond), Size: kb, Stream: true}, link: peer.H2, clients: 100, events: true, gate: 1.10, goal: 0.95}},
	} {
		all = append(all, row{name: r.name, run: r.cpu.run(r.name)})
	}
	for _, r := range []struct {
		name string
		latency
	}{
		{"added", latency{what: "added at 500/s", ask: load.Ask{Scene: answer, Size: kb}, clients: 20, rate: 500, value: whole, gate: 1.1, goal: 0.9, tail: 1}},
		{"callers-1", latency{what: "added, one caller", ask: load.Ask{Scene: answer, Size: kb}, clients: 1, value: whole, tail: 1}},
		{"callers-32", latency{what: "added, 32 callers", ask: load.Ask{Scene: answer, Size: kb}, clients: 32, value: whole, tail: 1}},
		{"callers-256", latency{what: "added, 256 callers", ask: load.Ask{Scene: answer, Size: kb}, clients: 256, value: whole, tail: 1}},
		{"first-token", latency{what: "added to the first token", ask: load.Ask{Scene: stream(10, 5*time.Millisecond), Size: kb, Stream: true}, clients: 40, rate: 200, value: first, gate: 1.0, goal: 0.85}},
		{"first-token-h2", latency{what: "added to the first token, over HTTP/2", ask: load.Ask{Scene: stream(10, 5*time.Millisecond), Size: kb, Stream: true}, link: peer.H2, clients: 40, rate: 200, value: first, gate: 1.0, goal: 0.85}},
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
		{"wait-200k", memory{what: "between two tries, 200 KB body", ask: load.Ask{Scene: refuse, Size: 200 * kb}, alone: true, full: 1000, quick: 300, gate: 226, goal: 200}},
		{"live", memory{what: "stream that has begun, 200 KB body", ask: load.Ask{Scene: stream(2, never), Size: 200 * kb, Stream: true}, begins: true, full: 1000, quick: 300, goal: 80}},
		{"held-5k", memory{what: "5 000 held streams, 2 KB body", ask: load.Ask{Scene: refuse, Size: 2 * kb, Stream: true}, alone: true, full: 5000, quick: 5000, total: true, gate: 287, peak: 381, left: 100}},
		{"crowd", memory{what: "10 000 held streams, 200 KB of prose", ask: load.Ask{Scene: refuse, Size: 200 * kb, Stream: true}, alone: true, full: 10_000, quick: 10_000, total: true, gate: 1000, goal: 1000}},
	} {
		all = append(all, row{name: r.name, long: r.total, run: r.memory.run(r.name)})
	}
	return append(append(requestRows(answer), all...),
		row{name: "outage", run: outageCost},
		row{name: "library", run: library},
		row{name: "library-peers", alone: true, run: libraryPeers},
		row{name: "idle", run: idle},
		row{name: "storm", run: storms("storm", "interactive")},
		row{name: "storm-patient", long: true, run: storms("storm-patient", "patient")})
}

// requestRows measure the processor time of whole requests of three sizes, over each link to the upstream.
func requestRows(answer string) (all []row) {
	sizes := []struct {
		name    string
		size    int
		clients int
		of      map[string]bounds // by the end of the row's name
	}{
		{"1k", kb, 32, map[string]bounds{"": {1.10, 1}, "-tls": {1, 0.75}, "-h2": {1, 0.80}}},
		{"64k", 64 * kb, 32, map[string]bounds{"": {1.10, 1}, "-tls": {1, 0.75}, "-h2": {1, 0.80}}},
		{"512k", 512 * kb, 16, map[string]bounds{"": {1.10, 1}, "-tls": {1, 0.75}, "-h2": {1, 0.90}}},
	}
	for _, way := range []struct {
		end, words string
		link       peer.Link
		free       bool
	}{
		{"-h2", "over HTTP/2", peer.H2, false},
		{"-tls", "over TLS", peer.TLS, false},
		{"", "without TLS", peer.Plain, false},
		{"-free", "without TLS, on all processors", peer.Plain, true},
	} {
		for _, s := range sizes {
			name := "cpu-" + s.name + way.end
			c := cpu{
				what: fmt.Sprintf("CPU of a request, %d KB, %s", s.size/kb, way.words), ask: load.Ask{Scene: answer, Size: s.size},
				clients: s.clients, link: way.link, free: way.free, gate: s.of[way.end].gate, goal: s.of[way.end].goal,
			}
			all = append(all, row{name: name, long: way.free, run: c.run(name)})
		}
	}
	return all
}

type bounds struct{ gate, goal float64 }

//go:build linux

package main

import "github.com/ridethrough/ridethrough/bench/internal/peer"

// The arithmetic between what is measured and what is shown is tested. The
// rest of the command is not: it is run.
var (
	CPUFigure      = cpu.figure
	LatencyFigures = latency.figures
	MemoryCost     = memory.cost
	StormSum       = sum
	RowNames       = rowNames
	Manifests      = manifests
	ManifestOf     = manifest.command
	HeadersOf      = manifest.headers
	TakesOf        = manifest.takes
	LibraryFigures = libraryFigures
)

type (
	CPU      = cpu
	Use      = use
	Latency  = latency
	Memory   = memory
	Storm    = storm
	Times    = times
	Manifest = manifest
)

// NewUse is what one round has used.
func NewUse(each, proxy, clients float64) Use { return use{each: each, proxy: proxy, clients: clients} }

// NewMemory is a row in KB for each request, or in MB for the whole process.
func NewMemory(total bool) Memory { return memory{total: total} }

// NewTimes are the times of one side.
func NewTimes(name string, late int, rounds ...[]float64) Times { return times{name, rounds, late} }

// Values takes a storm apart.
func (s Storm) Values() (unanswered, requests, peak, last float64) {
	return s.unanswered, s.requests, s.peak, s.last
}

// PlaceOf is where a peer listens and whom it asks.
func PlaceOf(addr, upstream string, link peer.Link, folder string) place {
	return placeOf(addr, upstream, link, folder)
}

//go:build linux

package main

// The arithmetic between what is measured and what is shown is tested. The
// rest of the command is not: it is run.
var (
	CPUFigure     = cpu.figure
	LatencyFigure = latency.figure
	MemoryCost    = memory.cost
	StormSum      = sum
	RowNames      = rowNames
)

type (
	CPU     = cpu
	Use     = use
	Latency = latency
	Memory  = memory
	Storm   = storm
)

// NewUse is what one round has used.
func NewUse(each, proxy, clients float64) Use { return use{each: each, proxy: proxy, clients: clients} }

// NewMemory is a row in KB for each request, or in MB for the whole process.
func NewMemory(total bool) Memory { return memory{total: total} }

// Values takes a storm apart.
func (s Storm) Values() (unanswered, requests, peak, last float64) {
	return s.unanswered, s.requests, s.peak, s.last
}

// PeerOf returns the command and the headers with which another proxy is measured.
func PeerOf(command, addr, upstream string, headers ...string) (argv, filled []string) {
	b := &bench{peer: command, peerHeaders: headers}
	return b.peerCommand(addr, upstream), b.headersOfPeer(upstream)
}

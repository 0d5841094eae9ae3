package access

import (
	"crypto/sha256"
	"maps"
	"net/netip"
	"sync"
	"time"
)

// Bounds of guesses.
const (
	guessBurst    = 10              // wrong tokens in a row
	guessInterval = 6 * time.Second // and then one in each
	maxAddresses  = 4096
	maxKnown      = 64 // tokens of one address
)

// Guesses limits how often an address may present a wrong token. Beyond that it may present only tokens that have
// passed from there before: one misconfigured client does not lock out the others behind its proxy. The zero value
// is ready for use. Its methods may be called concurrently.
type Guesses struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]*address
	swept     time.Time // when those without guesses were last forgotten
}

// address is what is known of an address.
type address struct {
	paid  time.Time // when all of its guesses are forgotten
	known map[[sha256.Size]byte]bool
}

// Wait returns how long an address has to wait until it may present a token; 0: it may.
func (g *Guesses) Wait(from netip.Addr, hash [sha256.Size]byte, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.addresses[network(from)]
	if a == nil || a.known[hash] || !a.paid.After(now) {
		return 0
	}
	return max(0, a.paid.Sub(now)-(guessBurst-1)*guessInterval)
}

// Fail notes a wrong token.
func (g *Guesses) Fail(from netip.Addr, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.of(from, now)
	if a.paid.Before(now) {
		a.paid = now
	}
	a.paid = a.paid.Add(guessInterval)
}

// Pass notes a valid token.
func (g *Guesses) Pass(from netip.Addr, hash [sha256.Size]byte, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.of(from, now)
	if a.known[hash] || len(a.known) == maxKnown {
		return
	}
	if a.known == nil {
		a.known = map[[sha256.Size]byte]bool{}
	}
	a.known[hash] = true
}

// of returns an address, for which another may have to be forgotten.
func (g *Guesses) of(from netip.Addr, now time.Time) *address {
	if a := g.addresses[network(from)]; a != nil {
		return a
	}
	if g.addresses == nil {
		g.addresses = map[netip.Prefix]*address{}
	}
	if len(g.addresses) >= maxAddresses {
		g.forget(now)
	}
	a := &address{}
	g.addresses[network(from)] = a
	return a
}

// forget makes room: it forgets the addresses without guesses, at most once in a while, or else any one.
func (g *Guesses) forget(now time.Time) {
	if now.Sub(g.swept) >= guessInterval {
		g.swept = now
		maps.DeleteFunc(g.addresses, func(_ netip.Prefix, a *address) bool { return !a.paid.After(now) })
	}
	for at := range g.addresses {
		if len(g.addresses) < maxAddresses {
			return
		}
		delete(g.addresses, at)
	}
}

// network returns the part of an address that its owner cannot choose: of IPv6 half of it.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // the zero address has the zero prefix
	return p
}

package access

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

const (
	guessBurst    = 10              // wrong tokens in a row
	guessInterval = 6 * time.Second // and then one in each
	maxAddresses  = 4096
)

// Guesses limits how often an address may present a wrong token. Valid tokens are not limited: one misconfigured
// client does not lock out other clients of the same proxy, and tokens are too long to guess. The zero value is
// ready for use. Its methods may be called concurrently.
type Guesses struct {
	mu        sync.Mutex
	addresses map[netip.Prefix]time.Time // when all guesses of an address are forgotten
	swept     time.Time                  // when those without guesses were last forgotten
}

// Wait returns how long an address must wait before it may present a wrong token again.
func (g *Guesses) Wait(from netip.Addr, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	paid := g.addresses[network(from)]
	if !paid.After(now) {
		return 0
	}
	return max(0, paid.Sub(now)-(guessBurst-1)*guessInterval)
}

// Fail records a wrong token.
func (g *Guesses) Fail(from netip.Addr, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.addresses == nil {
		g.addresses = map[netip.Prefix]time.Time{}
	}
	at := network(from)
	paid, known := g.addresses[at]
	if !known && len(g.addresses) >= maxAddresses {
		g.forget(now)
	}
	if paid.Before(now) {
		paid = now
	}
	g.addresses[at] = paid.Add(guessInterval)
}

// forget makes room: it forgets the addresses without guesses, at most once per interval, or else an arbitrary one.
func (g *Guesses) forget(now time.Time) {
	if now.Sub(g.swept) >= guessInterval {
		g.swept = now
		maps.DeleteFunc(g.addresses, func(_ netip.Prefix, paid time.Time) bool { return !paid.After(now) })
	}
	for at := range g.addresses {
		if len(g.addresses) < maxAddresses {
			return
		}
		delete(g.addresses, at)
	}
}

// network returns the part of an address that its owner cannot choose: half of an IPv6 address.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // the zero address has the zero prefix
	return p
}

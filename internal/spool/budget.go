package spool

import "sync/atomic"

// defaultMemory is the bound of Configure that asks for none.
const defaultMemory = 64 << 20

// budget is the bound on the memory of all bodies.
type budget struct{ limit, used atomic.Int64 }

// The shares of a budget, in quarters. What waits leaves room for what arrives, and what arrives for bodies on
// their way to and from the disk.
const (
	waitingShare  = 2
	receivedShare = 3
	passingShare  = 4
)

// leastPassing is what passes in any case, however small the budget is.
const leastPassing = 1 << 20

// take takes bytes, if no more than the share is in use then.
func (b *budget) take(n int64, share int64) bool {
	most := b.limit.Load() / 4 * share
	if share == passingShare {
		most = max(most, leastPassing)
	}
	if b.used.Add(n) <= most {
		return true
	}
	b.used.Add(-n)
	return false
}

// force takes bytes in any case.
func (b *budget) force(n int64) { b.used.Add(n) }

// give returns bytes.
func (b *budget) give(n int64) { b.used.Add(-n) }

package breaker

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

const maxTokens = 100 // retry tokens at most

// budget bounds the share of traffic that is retries in vain: a retry takes a
// token, and puts it back if it is answered. Each call brings one, and one comes
// by itself each second. spent counts the tokens that are taken, so that the zero value is
// full.
type budget struct {
	spent float64
	at    time.Time
}

// take takes a token, if there is one.
func (b *budget) take(now time.Time) bool {
	b.spent = max(0, b.spent-now.Sub(b.at).Seconds())
	b.at = now
	if b.spent > maxTokens-1 {
		return false
	}
	b.spent++
	return true
}

// give puts a token back.
func (b *budget) give() { b.spent = max(0, b.spent-1) }

// next is how long it takes until a token has come by itself.
func (b *budget) next() time.Duration {
	short := b.spent - (maxTokens - 1)
	return max(0, time.Duration(short*float64(time.Second))) + 1
}

// ration lets a call go if it is a first try or there is a token for it.
func (b *Breaker) ration(c *Caller, now time.Time) {
	if c.tries == 0 {
		c.granted = true // as grant does, but there is nothing to probe
		c.wakeUp()
		return
	}
	b.noToken.why = NoRetryToken
	b.noToken.push(c)
	b.spend(now)
}

// spend lets retries go for which there is a token, and sets the timer for the
// next one.
func (b *Breaker) spend(now time.Time) {
	for b.noToken.n > 0 && b.pausedAt.IsZero() && b.budget.take(now) {
		c := b.noToken.head
		c.dequeue()
		b.grant(c, now)
	}
	switch {
	case b.noToken.n == 0 || !b.pausedAt.IsZero():
		if b.refill != nil {
			b.refill.Stop()
		}
	case b.refill == nil:
		b.refill = clock.Or(b.Clock).AfterFunc(b.budget.next(), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.spend(b.now())
		})
	default:
		b.refill.Reset(b.budget.next())
	}
}

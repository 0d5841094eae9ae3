package breaker

import (
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

const maxTokens = 100 // retry tokens at most

// budget bounds the share of traffic that is fruitless retries: a retry takes a
// token, and puts it back if it is answered. Each call brings one, and one comes
// by itself each second. spent counts the tokens that are taken, so that the zero value is
// full. Several breakers that are joined have a part of all tokens each.
type budget struct {
	spent float64
	at    time.Time
}

// take takes a token, if there is one.
func (b *budget) take(now time.Time, part float64) bool {
	b.spent = max(0, b.spent-part*now.Sub(b.at).Seconds())
	b.at = now
	if b.spent > most(part)-1 {
		return false
	}
	b.spent++
	return true
}

// give puts a token back.
func (b *budget) give() { b.spent = max(0, b.spent-1) }

// next is how long it takes until a token has come by itself.
func (b *budget) next(part float64) time.Duration {
	short := b.spent - (most(part) - 1)
	return max(0, time.Duration(short/part*float64(time.Second))) + 1
}

// most is how many tokens there are at most in a part of the budget.
func most(part float64) float64 { return max(1, maxTokens*part) }

// ration lets a call go if it is a first try or there is a token for it.
func (b *Breaker) ration(c *Caller, now time.Time) {
	if c.tries == 0 {
		c.granted = true // as grant does, but there is nothing to probe
		c.wakeUp()
		return
	}
	b.noToken.why = noRetryToken
	b.noToken.push(c)
	b.spend(now)
}

// spend lets retries go for which there is a token, and sets the timer for the
// next one.
func (b *Breaker) spend(now time.Time) {
	for b.noToken.n > 0 && b.pausedAt.IsZero() && b.budget.take(now, b.part()) {
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
		b.refill = clock.Or(b.Clock).AfterFunc(b.budget.next(b.part()), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.spend(b.now())
		})
	default:
		b.refill.Reset(b.budget.next(b.part()))
	}
}

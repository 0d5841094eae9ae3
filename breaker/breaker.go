// Package breaker is a circuit breaker that all callers of one upstream share,
// so that its outage is one outage and not a thousand.
//
// A [Breaker] has a circuit for the host, for each model and for each
// credential; a fault counts in the one that it is about. A circuit is in one of
// four states:
//
//   - Closed: calls go at once. Five faults in a row open it, as do three silent
//     tries, one that states a wait, or one of a caller that has few retries. Where the upstream
//     fails in part, so that five in a row come up by chance, it takes a row that
//     chance does not explain. So does a row of refusals among tries that began beside
//     each other, while answers to earlier ones still come: these do not close it then.
//     While no answer comes, the tries that are not refused interrupt a row.
//   - Open: no call is sent, except probes. A caller that comes soon after a failed
//     probe shares its fault without sending a request.
//   - Half-open: one call is in progress as the probe, and others wait for its
//     outcome. Probes are further apart the older the outage is. Where the
//     callers' own schedules would send none for long, one of them is woken as
//     an early probe, which costs it no retry if it fails.
//   - Slow start: a probe has passed and the circuit is closed again. All who
//     waited are woken at once and admitted in batches of 1, 2, 4, 8 …, which stop
//     growing at the first new fault.
//
// While no circuit is open, a retry budget bounds the share of traffic that is
// retries, as in gRPC and the AWS SDKs. There a call without a token ends. Here
// it waits for one, so that no call is lost that could be answered later. Each
// call that arrives brings a token, and so does each second. A call that sleeps
// for long while its upstream answers others is woken for an early retry, after
// 5 s where the upstream fails in part and after 30 s else.
//
// Breakers of several processes act as one where they are joined, see [Fleet]: one probe for all of them, and their
// slow starts and retry budgets are one.
//
// Each logical call takes a [Caller] from the breaker, which is the Breaker of a
// retry.Retrier. The breaker decides which call goes when. How often and how
// long a call may wait is up to its policy. It has no goroutine:
// callers wait in their own. It has many files because each rule of a circuit has
// one of its own, and all share the breaker's lock.
package breaker

import (
	"slices"
	"sync"
	"time"

	"github.com/ridethrough/ridethrough/internal/clock"
)

// Scope is what a call asks for, as far as a fault can be about it.
type Scope struct {
	Model      string
	Credential string // a hash or a name of it, never the credential
}

// Breaker is shared by all callers of one upstream. The zero Breaker is ready. It
// may be used by many goroutines at the same time and must not be copied.
type Breaker struct {
	Clock clock.Clock // for this project's simulations; nil: the machine's

	name     string
	mu       sync.Mutex
	circuits map[key]*circuit // those about which there is something to remember
	degraded int              // how many of them are open or in slow start
	begun    order            // the latest try
	aged     time.Time        // when the windows were aged last
	traffic  traffic
	budget   budget
	answered time.Time         // the latest success
	batches  bool              // SlowStart is in progress
	faulted  bool              // there was a fault about the upstream since it began
	records  map[Scope]*record // of late

	fleet  Fleet             // nil: none
	load   load              // as the others were told
	others map[string]*other // by process; only in a fleet
	back   map[key]time.Time // when outages have ended, of late; only in a fleet

	pausedAt time.Time // zero: it is not
	pausedBy string
	paused   queue // calls that Pause keeps from going, the breaker's or their own
	sleeping queue // calls in Wait that no circuit concerns
	noToken  queue // retries that wait for a token
	refill   clock.Timer
}

// New returns a breaker with a name to show.
func New(name string) *Breaker { return &Breaker{name: name} }

// Caller returns the place of one logical call. Close it.
func (b *Breaker) Caller(s Scope) *Caller { return &Caller{breaker: b, scope: s} }

func (b *Breaker) now() time.Time {
	if b.Clock == nil {
		return time.Now()
	}
	return b.Clock.Now()
}

// queues returns all places where calls wait.
func (b *Breaker) queues() []*queue {
	all := []*queue{&b.paused, &b.noToken, &b.sleeping}
	for _, c := range b.circuits {
		all = append(all, &c.sleeping, &c.awaitingProbe, &c.starting)
	}
	return all
}

// queued reports whether a call is in one of them.
func (b *Breaker) queued() bool {
	return slices.ContainsFunc(b.queues(), func(q *queue) bool { return q.head != nil })
}

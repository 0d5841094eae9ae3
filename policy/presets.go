package policy

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
)

// Patient outlasts long outages: waits of 5 s, 10 s, 30 s, 60 s, 5 min,
// 10 min, 15 min, then 30 min each, without jitter, up to eight hours of
// waiting in all, which are 21 retries and 27 105 s. It also tries unknown
// failures again, and a spent quota whose stated reset fits the budget.
func Patient() Policy {
	return Policy{
		Retries: Unlimited,
		Backoff: Backoff{Steps: []time.Duration{
			5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
			5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		}},
		MaxWait: 8 * time.Hour,
		RetryOn: fault.Transient.With(fault.Unknown, fault.Quota),
	}
}

// Interactive is for a user who watches: ten retries, 1 s doubling to 30 s, ±10 %.
// A provider may ask for waits of up to five minutes.
func Interactive() Policy {
	return Policy{
		Retries: 10,
		Backoff: Backoff{
			Steps:  []time.Duration{time.Second},
			Factor: 2,
			Jitter: Jitter{Down: 0.1, Up: 0.1},
			Max:    30 * time.Second,
		},
		MaxRetryAfter: 5 * time.Minute,
	}
}

// Attended is for a user who may leave: Interactive's ten waits, then 60 s, 5 min,
// 10 min, 15 min and 30 min each, ±10 %, up to eight hours of waiting in all. It
// tries the kinds of faults that Patient does.
func Attended() Policy {
	p := Patient()
	p.Backoff = Backoff{
		Steps: []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
			30 * time.Second, 30 * time.Second, 30 * time.Second, 30 * time.Second, 30 * time.Second,
			time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		},
		Jitter: Jitter{Down: 0.1, Up: 0.1},
		Max:    30 * time.Minute,
	}
	return p
}

// Worker is for a long unattended task: waits of 3 s, 5 s, 10 s,
// 30 s, then 60 s each, up to 10 % longer, ten retries. A provider may ask for
// waits of up to fifteen minutes.
func Worker() Policy {
	return Policy{
		Retries: 10,
		Backoff: Backoff{
			Steps: []time.Duration{
				3 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
			},
			Jitter: Jitter{Up: 0.1},
		},
		MaxRetryAfter: 15 * time.Minute,
	}
}

// Simple is for one call in a script: three retries after 1 s, 2 s and 4 s.
// A provider may ask for waits of up to a minute.
func Simple() Policy {
	return Policy{
		Retries:       3,
		Backoff:       Backoff{Steps: []time.Duration{time.Second}, Factor: 2, Max: 30 * time.Second},
		MaxRetryAfter: time.Minute,
	}
}

// CouncilBudget is the usual budget of a council's member for all its tries.
const CouncilBudget = 270 * time.Second

// Council is for one model among several: one retry after 1.5 s, only while more
// than 30 s of the budget remain, and never after a limit of ours expired.
func Council(budget time.Duration) Policy {
	return Policy{
		Retries:      1,
		Backoff:      Backoff{Steps: []time.Duration{1500 * time.Millisecond}},
		Deadline:     budget,
		MinRemaining: 30 * time.Second,
		RetryOn:      fault.Transient.Without(fault.Timeout),
	}
}

// presets are the presets by name, in the order in which they are shown.
var presets = []struct {
	name string
	make func() Policy
}{
	{"patient", Patient},
	{"interactive", Interactive},
	{"attended", Attended},
	{"worker", Worker},
	{"simple", Simple},
	{"council", func() Policy { return Council(CouncilBudget) }},
}

// Preset returns a preset by its lower-case name, Council with its usual budget;
// false: no preset has it.
func Preset(name string) (Policy, bool) {
	for _, p := range presets {
		if p.name == name {
			return p.make(), true
		}
	}
	return Policy{}, false
}

// Presets returns the presets' names.
func Presets() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}

package config

import (
	"cmp"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

type rule struct {
	_ struct{} `name:"policy" about:"Your own policy." want:"the fields of a policy"`

	name          string          `yaml:",name"`
	preset        string          `yaml:"preset" as:"preset" doc:"The preset to start from. The other fields override it." without:"the policy starts empty" old:"like"`
	backoff       []time.Duration `yaml:"backoff" list:"a list of times" doc:"The waits before retries 1, 2, 3 and so on. The last one repeats." without:"required without a preset" old:"waits"`
	multiplier    float64         `yaml:"multiplier" as:"multiplier" doc:"The growth of each further wait once the list has ended." without:"no growth" old:"factor"`
	jitter        jitter          `yaml:"jitter" doc:"The random change of each wait: 10% both ways, or {down: 0%, up: 10%}." without:"none"`
	maxBackoff    time.Duration   `yaml:"max-backoff" doc:"The longest single wait." without:"no limit" old:"max"`
	retries       int             `yaml:"retries" as:"retries" doc:"The number of retries after the first try, or unlimited. 0 never retries. A failure of another call uses no retry. It uses time: up to all waits and a minute." without:"unlimited"`
	maxTotalWait  time.Duration   `yaml:"max-total-wait" doc:"The longest total of all waits of a call." without:"no limit" old:"sleep"`
	deadline      time.Duration   `yaml:"deadline" doc:"The longest time of a call, tries and waits included." without:"no limit" old:"wall"`
	minRemaining  time.Duration   `yaml:"min-remaining" doc:"The time that must be left before the deadline for another try to start." without:"any" old:"reserve"`
	maxRetryAfter time.Duration   `yaml:"max-retry-after" doc:"The longest wait that a provider may ask for. A longer one ends the call." without:"what max-total-wait and deadline allow" old:"hint"`
	retryOn       fault.Set       `yaml:"retry-on" doc:"The kinds of faults that are retried. transient stands for all temporary kinds." without:"transient" old:"kinds"`
}

// jitter is one share for both directions, or one per direction.
type jitter struct {
	_ struct{} `want:"a share such as 10%, or {down: 0%, up: 10%}"`

	both float64 `yaml:",text" as:"share"`
	each shares  `yaml:",inline"`
}

type shares struct {
	_ struct{} `want:"down and up"`

	down float64 `yaml:"down" as:"share" doc:"How much shorter a wait may become." default:"0%"`
	up   float64 `yaml:"up" as:"share" doc:"How much longer a wait may become." default:"0%"`
}

// choice selects a policy, by name or by its fields; zero: none.
type choice struct {
	_ struct{} `want:"the name of a policy, or its fields"`

	name string `yaml:",text" as:"policy"`
	own  *rule  `yaml:",inline"`
}

const noRetries = "none"

func (p *rule) start(r *reader, n *node) {
	base, retries := n.field("preset"), n.field("retries")
	switch {
	case base != nil:
		from, _ := policy.Preset(base.text) // reading the field rejects an unknown name
		p.set(from)
	case n.field("backoff") == nil && (retries == nil || retries.text != "0"):
		r.fail(n, "a policy needs backoff or preset")
		fallthrough
	default:
		p.retries = policy.Unlimited
	}
}

func (p *rule) check(*reader, *node) { p.set(p.policy()) }

func (p *rule) set(from policy.Policy) {
	b := from.Backoff
	p.backoff, p.multiplier, p.maxBackoff, p.retries = b.Steps, b.Factor, b.Max, from.Retries
	p.maxTotalWait, p.deadline, p.minRemaining, p.maxRetryAfter, p.retryOn = from.MaxWait, from.Deadline, from.MinRemaining, from.MaxRetryAfter, from.RetryOn
	if p.jitter = (jitter{both: b.Jitter.Down}); b.Jitter.Up != b.Jitter.Down {
		p.jitter = jitter{each: shares{down: b.Jitter.Down, up: b.Jitter.Up}}
	}
}

func (p *rule) policy() policy.Policy {
	j := p.jitter
	return policy.Policy{
		Backoff: policy.Backoff{Steps: p.backoff, Factor: p.multiplier, Max: p.maxBackoff, Jitter: policy.Jitter{Down: j.both + j.each.down, Up: j.both + j.each.up}},
		Retries: p.retries, MaxWait: p.maxTotalWait, Deadline: p.deadline, MinRemaining: p.minRemaining, MaxRetryAfter: p.maxRetryAfter, RetryOn: p.retryOn,
	}
}

// quota says what follows a spent usage window. Zero fields are set elsewhere.
type quota struct {
	_ struct{} `name:"quota" about:"How to react to a spent usage window if the provider says when it opens again." want:"the fields of a quota"`

	wait     string        `yaml:"wait" want:"what follows a spent window" enum:"stop until-reset" doc:"‘until-reset’ keeps the call waiting until the window opens; the wait takes nothing from the policy's budget. ‘stop’ ends the call at once." default:"until-reset"`
	windows  int           `yaml:"windows" want:"a number from 1" min:"1" max:"1000" doc:"How many windows a call waits for, one after the other." without:"one"`
	max      limit         `yaml:"max" doc:"The longest wait for one window. A longer one ends the call at once, with the time when it opens." default:"5h"`
	notAfter time.Duration `yaml:"not-after" as:"time-of-day" doc:"The local time of day by which the window must open. It counts from the beginning of the call: an evening call waits until this time of the next morning." without:"any time"`
}

// DefaultQuota is the quota of the gateway's requests without one in the file.
func DefaultQuota() policy.Quota {
	return policy.Quota{Wait: policy.QuotaUntilReset, Windows: 1, Max: 5 * time.Hour}
}

// over returns the quota, with unset fields taken from another one.
func (q quota) over(other quota) quota {
	return quota{wait: cmp.Or(q.wait, other.wait), windows: cmp.Or(q.windows, other.windows), max: cmp.Or(q.max, other.max), notAfter: cmp.Or(q.notAfter, other.notAfter)}
}

// quotaOf returns what follows a spent window for an upstream's or route's quota. Without one in the file the
// command's default applies.
func (c *Config) quotaOf(own quota) policy.Quota {
	q := own.over(c.quota)
	if q == (quota{}) {
		return c.defaultQuota
	}
	made := DefaultQuota()
	made.Wait, made.Windows, made.NotAfter = cmp.Or(policy.QuotaWait(q.wait), made.Wait), cmp.Or(q.windows, made.Windows), q.notAfter
	setLimit(&made.Max, q.max)
	return made
}

package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// rule is a policy that the user defines.
type rule struct {
	preset string // to start from; "": none
	policy.Policy
}

// choice is a reference to a policy, by name or with its fields; zero: none.
type choice struct {
	name string
	own  *rule
}

// noRetries is the name of the policy without retries.
const noRetries = "none"

// choices is the codec of a reference to a policy.
func choices() codec[choice] {
	own, name := policyFields(), anyName("a policy's name")
	known := &schema{Type: "string", Enum: append(policy.Presets(), noRetries)} // for completion in editors
	s := &schema{expected: "the name of a policy, or its fields", AnyOf: []*schema{known, name.schema, own.schema}}
	return codec[choice]{
		schema: s,
		read: func(r *reader, n *node, to *choice) bool {
			switch n.kind {
			case text:
				to.name = n.text
				return true
			case mapping:
				to.own = new(rule)
				return own.read(r, n, to.own)
			}
			r.mismatch(n, s, "")
			return false
		},
		show: func(c *choice) *node {
			if c.own != nil {
				return own.show(c.own)
			}
			return &node{kind: text, text: c.name}
		},
	}
}

// policyName is the codec of the name of a policy that the user defines.
func policyName() codec[string] {
	return checkedText("a name that begins with a letter and is no preset's", `^[A-Za-z][A-Za-z0-9._-]*$`, func(s string) bool {
		_, preset := policy.Preset(s)
		return s != "" && !preset && s != noRetries && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z' &&
			strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
	})
}

// policyFields is the codec of a policy's fields.
func policyFields() codec[rule] {
	return object(
		&schema{name: "policy", about: "A policy of your own.", expected: "the fields of a policy"}, fromPreset,
		newField("preset", oneOf("a preset", policy.Presets()...), func(p *rule) *string { return &p.preset }, fieldDoc{"The preset to start from. The other fields override it.", "", "the policy starts empty"}).formerly("like"),
		newField("backoff", seq[*[]time.Duration]("a list of times", duration()), func(p *rule) *[]time.Duration { return &p.Backoff.Steps }, fieldDoc{"The waits before retries 1, 2, 3 and so on. The last one repeats.", "", "required without a preset"}).formerly("waits"),
		newField("multiplier", multiplier(), func(p *rule) *float64 { return &p.Backoff.Factor }, fieldDoc{"The growth of each further wait once the list has ended.", "", "no growth"}).formerly("factor"),
		newField("jitter", jitters(), func(p *rule) *policy.Jitter { return &p.Backoff.Jitter }, fieldDoc{"The random change of each wait: 10% both ways, or {down: 0%, up: 10%}.", "", "none"}),
		newField("max-backoff", duration(), func(p *rule) *time.Duration { return &p.Backoff.Max }, fieldDoc{"The longest single wait.", "", "no limit"}).formerly("max"),
		newField("retries", retries(), func(p *rule) *int { return &p.Retries }, fieldDoc{"The number of retries after the first try, or unlimited. 0 never retries.", "", "unlimited"}),
		newField("max-total-wait", duration(), func(p *rule) *time.Duration { return &p.MaxWait }, fieldDoc{"The longest sum of all waits of a call.", "", "no limit"}).formerly("sleep"),
		newField("deadline", duration(), func(p *rule) *time.Duration { return &p.Deadline }, fieldDoc{"The longest time of a call, tries and waits included.", "", "no limit"}).formerly("wall"),
		newField("min-remaining", duration(), func(p *rule) *time.Duration { return &p.MinRemaining }, fieldDoc{"The time that must be left before the deadline for another try to start.", "", "any"}).formerly("reserve"),
		newField("max-retry-after", duration(), func(p *rule) *time.Duration { return &p.MaxRetryAfter }, fieldDoc{"The longest wait that a provider may ask for. A longer one ends the call.", "", "what max-total-wait and deadline allow"}).formerly("hint"),
		newField("retry-on", kindsOf(), func(p *rule) *fault.Set { return &p.RetryOn }, fieldDoc{"The kinds of faults that are retried. transient stands for all that go away by themselves.", "", "transient"}).formerly("kinds"),
	)
}

// fromPreset starts a policy with its preset.
func fromPreset(r *reader, n *node, p *rule) {
	base := n.field("preset")
	if base == nil {
		if n.field("backoff") == nil && (n.field("retries") == nil || n.field("retries").text != "0") {
			r.fail(n, "a policy needs backoff or preset")
		}
		p.Retries = policy.Unlimited
		return
	}
	p.Policy, _ = policy.Preset(base.text) // reading the field rejects an unknown name
}

// multiplier is the codec of a factor from 1.
func multiplier() codec[float64] {
	least := 1.0
	return scalar(&schema{Type: "number", Minimum: &least, expected: "a number from 1, such as 2"}, func(s string) (float64, error) {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || !(n >= least) || math.IsInf(n, 0) {
			return 0, errForm
		}
		return n, nil
	}, func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) })
}

// retries is the codec of a number of retries.
func retries() codec[int] {
	least := 0.0
	s := &schema{expected: "a number from 0, or unlimited", AnyOf: []*schema{{Type: "integer", Minimum: &least}, {Type: "string", Enum: []string{"unlimited"}}}}
	return codec[int]{
		schema: s,
		read: func(r *reader, n *node, to *int) bool {
			if n.kind == text && n.text == "unlimited" {
				*to = policy.Unlimited
				return true
			}
			count, err := strconv.ParseUint(n.text, 10, 31)
			if n.kind != number || err != nil {
				r.mismatch(n, s, "")
			}
			*to = int(count)
			return err == nil
		},
		show: func(count *int) *node {
			if *count == policy.Unlimited {
				return &node{kind: text, text: "unlimited"}
			}
			return &node{kind: number, text: strconv.Itoa(*count)}
		},
	}
}

// jitters is the codec of a jitter: one share for both directions, or one for each.
func jitters() codec[policy.Jitter] {
	both := share()
	each := object(
		&schema{expected: "down and up"}, nil,
		newField("down", share(), func(j *policy.Jitter) *float64 { return &j.Down }, fieldDoc{"How much shorter a wait may become.", "0%", ""}),
		newField("up", share(), func(j *policy.Jitter) *float64 { return &j.Up }, fieldDoc{"How much longer a wait may become.", "0%", ""}),
	)
	return codec[policy.Jitter]{
		schema: &schema{expected: "a share such as 10%, or {down: 0%, up: 10%}", AnyOf: []*schema{both.schema, each.schema}},
		read: func(r *reader, n *node, to *policy.Jitter) bool {
			if n.kind == mapping {
				return each.read(r, n, to)
			}
			ok := both.read(r, n, &to.Down)
			to.Up = to.Down
			return ok
		},
		show: func(j *policy.Jitter) *node {
			if j.Down == j.Up {
				return both.show(&j.Down)
			}
			return each.show(j)
		},
	}
}

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

// never is the name of the policy without retries.
const never = "none"

// choices is the codec of a reference to a policy.
func choices() form[choice] {
	own, name := numbers(), anyName("a policy's name")
	known := schema{Type: "string", Enum: append(policy.Presets(), never)} // for completion in editors
	s := schema{words: "the name of a policy, or its fields", AnyOf: []*schema{&known, &name.schema, &own.schema}}
	return form[choice]{
		schema: s,
		read: func(r *reader, n *node) (choice, bool) {
			switch n.kind {
			case text:
				return choice{name: n.text}, true
			case mapping:
				v, ok := own.read(r, n)
				return choice{own: &v}, ok
			}
			r.want(n, &s, "")
			return choice{}, false
		},
		show: func(c choice) *node {
			if c.own != nil {
				return own.show(*c.own)
			}
			return &node{kind: text, text: c.name}
		},
	}
}

// policyName is the codec of the name of a policy that the user defines.
func policyName() form[string] {
	return wording("a name that begins with a letter and is no preset's", `^[A-Za-z][A-Za-z0-9._-]*$`, func(s string) bool {
		_, preset := policy.Preset(s)
		return s != "" && !preset && s != never && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z' &&
			strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
	})
}

// numbers is the codec of a policy's fields.
func numbers() form[rule] {
	return object(
		schema{name: "policy", about: "A policy of your own.", words: "the fields of a policy"}, fromPreset,
		of("preset", oneOf("a preset", policy.Presets()...), func(p *rule) *string { return &p.preset }, says{"The preset to start from. The other fields override it.", "", "the policy starts empty"}).formerly("like"),
		of("backoff", seq("a list of times", duration()), func(p *rule) *[]time.Duration { return &p.Backoff.Steps }, says{"The waits before retries 1, 2, 3 and so on. The last one repeats.", "", "required without a preset"}).formerly("waits"),
		of("multiplier", multiplier(), func(p *rule) *float64 { return &p.Backoff.Factor }, says{"The growth of each further wait once the list has ended.", "", "no growth"}).formerly("factor"),
		of("jitter", jitters(), func(p *rule) *policy.Jitter { return &p.Backoff.Jitter }, says{"The random change of each wait: 10% both ways, or {down: 0%, up: 10%}.", "", "none"}),
		of("max-backoff", duration(), func(p *rule) *time.Duration { return &p.Backoff.Max }, says{"The longest single wait.", "", "no limit"}).formerly("max"),
		of("retries", retries(), func(p *rule) *int { return &p.Retries }, says{"The number of retries after the first try, or unlimited. 0 never retries.", "", "unlimited"}),
		of("max-total-wait", duration(), func(p *rule) *time.Duration { return &p.MaxWait }, says{"The longest sum of all waits of a call.", "", "no limit"}).formerly("sleep"),
		of("deadline", duration(), func(p *rule) *time.Duration { return &p.Deadline }, says{"The longest time of a call, tries and waits included.", "", "no limit"}).formerly("wall"),
		of("min-remaining", duration(), func(p *rule) *time.Duration { return &p.MinRemaining }, says{"The time that must be left before the deadline for another try to start.", "", "any"}).formerly("reserve"),
		of("max-retry-after", duration(), func(p *rule) *time.Duration { return &p.MaxRetryAfter }, says{"The longest wait that a provider may ask for. A longer one ends the call.", "", "what max-total-wait and deadline allow"}).formerly("hint"),
		of("retry-on", kindsOf(), func(p *rule) *fault.Set { return &p.RetryOn }, says{"The kinds of faults that are retried. transient stands for all that go away by themselves.", "", "transient"}).formerly("kinds"),
	)
}

// fromPreset returns the preset of a policy.
func fromPreset(r *reader, n *node) rule {
	base := n.field("preset")
	if base == nil {
		if n.field("backoff") == nil && (n.field("retries") == nil || n.field("retries").text != "0") {
			r.fail(n, "a policy needs backoff or preset")
		}
		return rule{Policy: policy.Policy{Retries: policy.Unlimited}}
	}
	preset, _ := policy.Preset(base.text) // reading the field rejects an unknown name
	return rule{Policy: preset}
}

// multiplier is the codec of a factor from 1.
func multiplier() form[float64] {
	least := 1.0
	return scalar(schema{Type: "number", Minimum: &least, words: "a number from 1, such as 2"}, func(s string) (float64, error) {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || !(n >= least) || math.IsInf(n, 0) {
			return 0, errForm
		}
		return n, nil
	}, func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) })
}

// retries is the codec of a number of retries.
func retries() form[int] {
	least := 0.0
	s := schema{words: "a number from 0, or unlimited", AnyOf: []*schema{{Type: "integer", Minimum: &least}, {Type: "string", Enum: []string{"unlimited"}}}}
	return form[int]{
		schema: s,
		read: func(r *reader, n *node) (int, bool) {
			if n.kind == text && n.text == "unlimited" {
				return policy.Unlimited, true
			}
			count, err := strconv.ParseUint(n.text, 10, 31)
			if n.kind != number || err != nil {
				r.want(n, &s, "")
			}
			return int(count), err == nil
		},
		show: func(count int) *node {
			if count == policy.Unlimited {
				return &node{kind: text, text: "unlimited"}
			}
			return &node{kind: number, text: strconv.Itoa(count)}
		},
	}
}

// jitters is the codec of a jitter: one share for both directions, or one for each.
func jitters() form[policy.Jitter] {
	both := share()
	each := object(
		schema{words: "down and up"}, nil,
		of("down", share(), func(j *policy.Jitter) *float64 { return &j.Down }, says{"How much shorter a wait may become.", "0%", ""}),
		of("up", share(), func(j *policy.Jitter) *float64 { return &j.Up }, says{"How much longer a wait may become.", "0%", ""}),
	)
	return form[policy.Jitter]{
		schema: schema{words: "a share such as 10%, or {down: 0%, up: 10%}", AnyOf: []*schema{&both.schema, &each.schema}},
		read: func(r *reader, n *node) (policy.Jitter, bool) {
			if n.kind == mapping {
				return each.read(r, n)
			}
			v, ok := both.read(r, n)
			return policy.Jitter{Down: v, Up: v}, ok
		},
		show: func(j policy.Jitter) *node {
			if j.Down == j.Up {
				return both.show(j.Down)
			}
			return each.show(j)
		},
	}
}

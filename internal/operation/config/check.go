package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// visit calls see with the path of each policy in use and of each fallback chain. In each call, either p or chain
// is zero.
func (c *Config) visit(see func(path string, p choice, chain []fallback)) {
	see("policy", c.policy, nil)
	see("supervisor", c.supervisor, nil)
	for _, m := range c.mcp {
		see("mcp."+m.Name+".policy", m.chosen, nil)
	}
	for _, u := range c.upstreams {
		at := "upstreams." + u.name
		see(at+".policy", u.policy, nil)
		see(at+".fallback", choice{}, u.fallback)
		for i, t := range u.routes {
			at := at + ".routes." + strconv.Itoa(i)
			see(at+".policy", t.policy, nil)
			see(at+".fallback", choice{}, t.fallback)
		}
	}
}

// checkReferences returns an error for each unknown name of a policy, an upstream or an MCP server.
func (c *Config) checkReferences() (faults Errors) {
	say := func(path, format string, args ...any) {
		faults = append(faults, c.source.fault(c.at[path], format, args...))
	}
	c.visit(func(path string, p choice, chain []fallback) {
		if p.name != "" && !slices.Contains(c.policyNames(), p.name) {
			say(path, "unknown policy %q; %s", p.name, suggest(p.name, c.policyNames()))
		}
		for i, f := range chain {
			if f.to != "" && !slices.Contains(c.Upstreams(), f.to) {
				say(fmt.Sprintf("%s.%d.to", path, i), "unknown upstream %q; %s", f.to, suggest(f.to, c.Upstreams()))
			}
		}
	})
	c.checkAgents(say)
	return faults
}

// Warnings returns valid settings that are probably not intended.
func (c *Config) Warnings() (doubts Errors) {
	say := func(path, format string, args ...any) {
		doubts = append(doubts, c.source.fault(c.at[path], format, args...))
	}
	used := map[string]bool{}
	c.visit(func(path string, p choice, _ []fallback) {
		used[p.name] = true
		if p.own != nil {
			if doubt := policyWarning(p.own.policy()); doubt != "" {
				say(path, "%s", doubt)
			}
		}
	})
	for _, p := range c.policies {
		path := "policies." + p.name
		if doubt := policyWarning(p.policy()); doubt != "" {
			say(path, "%s", doubt)
		}
		if !used[p.name] {
			say(path, "policy %s is unused", p.name)
		}
	}
	for _, u := range c.upstreams {
		c.upstreamWarnings(u, say)
	}
	slices.SortStableFunc(doubts, byPosition)
	return doubts
}

func (c *Config) upstreamWarnings(u upstream, say func(path, format string, args ...any)) {
	at := "upstreams." + u.name
	if base, err := parseBase(u.url); err == nil && base.Scheme == "http" && !isLoopback(base.Hostname()) && !u.key.none() {
		say(at+".url", "credentials are sent to %s unencrypted; use https", base.Host)
	}
	for i, t := range u.routes {
		if len(t.models) == 0 && i < len(u.routes)-1 {
			say(fmt.Sprintf("%s.routes.%d", at, i), "this route matches every model, so the routes after it are never used")
		}
	}
}

func policyWarning(p policy.Policy) string {
	switch o := p.Forecast(1); {
	case p.Retries == 0 && len(p.Backoff.Steps) > 0:
		return "this policy never retries, since retries is 0; its backoff is unused"
	case p.Retries == 0:
		return ""
	case p.Deadline == 0 && p.MinRemaining > 0:
		return "min-remaining has no effect without deadline"
	case p.Deadline > 0 && p.MinRemaining >= p.Deadline:
		return "this policy never retries: min-remaining is not below deadline"
	case len(o.Retries) == 0 && o.Stop == policy.OverBudget:
		return "this policy never retries: its first wait is longer than max-total-wait or deadline allows"
	case p.Retries == policy.Unlimited && p.MaxWait == 0 && p.Deadline == 0:
		return "this policy never gives up; set retries, max-total-wait or deadline"
	case min(bound(p.MaxWait), bound(p.Deadline)) > day && p.Retries == policy.Unlimited:
		return "this policy waits for more than a day; most clients disconnect before that"
	case p.Retries > 20 && p.Backoff.At(p.Retries, 0) < time.Second:
		return "this policy retries many times less than a second apart; use a longer backoff, or providers may block you"
	}
	return ""
}

func bound(d time.Duration) time.Duration {
	if d == 0 {
		return math.MaxInt64
	}
	return d
}

// Use is a policy and its users.
type Use struct {
	Name   string
	Policy policy.Policy
	Preset bool     // it is built in
	By     []string // "conversations", "supervisor", "mcp github", upstreams, and routes as "anthropic, route 1"
}

// Uses returns all named policies and those without a name, bounded by max-wait. Conversations use the default policy
// unless they name another.
func (c *Config) Uses() []Use {
	var all []Use
	own := map[*rule]int{} // the indexes of those without a name
	for _, name := range c.policyNames() {
		preset := name == noRetries || slices.Contains(policy.Presets(), name)
		all = append(all, Use{Name: name, Policy: c.resolve(choice{name: name}), Preset: preset})
	}
	for _, u := range c.users() {
		p, by := u.choice, u.name
		i, known := own[p.own]
		if p.own == nil {
			i = slices.IndexFunc(all, func(u Use) bool { return u.Name == p.name })
		} else if !known {
			i = len(all)
			own[p.own] = i
			all = append(all, Use{Name: "policy of " + by, Policy: p.own.policy()})
		}
		all[i].By = append(all[i].By, by)
	}
	for i, u := range all {
		if len(u.By) == 0 || slices.ContainsFunc(u.By, asksModels) {
			all[i].Policy = u.Policy.Capped(c.maxWait)
		}
	}
	return all
}

// asksModels reports whether the waits of a policy's user are those that max-wait bounds.
func asksModels(user string) bool { return user != "supervisor" && !strings.HasPrefix(user, "mcp ") }

type user struct {
	name string
	choice
}

func (c *Config) users() []user {
	all := []user{{"conversations", c.policy}, {"supervisor", c.supervisor}}
	for _, m := range c.mcp {
		if m.chosen != (choice{}) {
			all = append(all, user{"mcp " + m.Name, m.chosen})
		}
	}
	for _, u := range c.all() {
		p := u.policy
		if p == (choice{}) {
			p = c.policy
		}
		all = append(all, user{u.name, p})
		for i, t := range u.routes {
			if t.policy != (choice{}) {
				all = append(all, user{fmt.Sprintf("%s, route %d", u.name, i+1), t.policy})
			}
		}
	}
	return all
}

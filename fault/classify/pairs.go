package classify

import "github.com/ridethrough/ridethrough/fault"

// cross gives a row for each of the first words with one of the second shortly
// behind it: a noun and what has become of it, or a verb and what it is about.
func cross(kind fault.Kind, window bool, why string, firsts, seconds []string) []row {
	rows := make([]row, 0, len(firsts)*len(seconds))
	for _, a := range firsts {
		for _, b := range seconds {
			rows = append(rows, row{says: a + " ~ " + b, kind: kind, window: window, why: why})
		}
	}
	return rows
}

// Words of money and of windows.
var (
	money    = []string{"credit", "balance", "funds", "budget", "wallet", "prepaid", "billing", "payment", "invoice"}
	grants   = []string{"quota", "allowance", "allocation", "allotment", "grant", "trial", "plan limit"}
	outcomes = []string{
		"exhausted", "depleted", "used up", "run out", "ran out", "insufficient", "too low", "not enough", "empty",
		"zero", "negative", "below", "consumed", "spent", "expired", "exceeded", "is 0", "is $0", "ended", "overdrawn", "gone",
	}
	spends = []string{
		"insufficient", "not enough", "out of", "exhausted", "used all", "used up", "consumed", "exceeded", "spent",
		"depleted", "recharge", "refill", "deposit", "requires more", "lack",
	}
	spans   = []string{"daily", "weekly", "monthly", "hourly", "yearly", "annual"}
	present = []string{"today", "this week", "this month", "for the day", "for the week", "for the month", "per hour", "24 hour"}
	amounts = []string{
		"limit", "quota", "cap", "allowance", "allocation", "allotment", "grant", "budget", "spend", "usage", "credit", "max",
		"exceeded", "reached", "used", "exhausted", "consumed", "volume",
	}
	counted = []string{"limit", "quota", "cap", "allowance", "tokens", "requests", "messages", "usage", "used"}
)

// pairs gives nouns and verbs near each other, in all their combinations. They
// are asked after the sentences that somebody has really been seen to write.
func pairs() table {
	return table{
		vendor: "pairs",
		guess:  true,
		says: join(
			cross(fault.Quota, true, "a long window", spans, amounts),
			cross(fault.Quota, true, "a long window", counted, present),
			cross(fault.Quota, true, "spent", grants, outcomes),
			cross(fault.Quota, true, "spent", spends, grants),
			cross(fault.Quota, false, "spent", money[:6], outcomes),
			cross(fault.Quota, false, "spent", spends, money[:6]),
			cross(fault.Quota, false, "a cap on money", []string{"spend", "cost", "dollar"}, []string{"cap", "limit", "ceiling"}),
			cross(fault.Quota, false, "a bill", money[6:], []string{"fail", "declined", "missing", "invalid", "overdue", "not set up", "not configured", "unpaid", "inactive"}),
			cross(fault.Quota, false, "a bill", []string{"no", "add", "missing", "update"}, []string{"payment", "billing"}),
			cross(fault.Quota, false, "spent", []string{"no", "zero"}, []string{"credits", "funds", "quota", "budget", "allowance"}),
			[]row{
				{says: "used up", kind: fault.Quota, window: true, why: "spent"},
				{says: "used all", kind: fault.Quota, window: true, why: "spent"},
				{says: "recharge", kind: fault.Quota, why: "asks for money"},
				{says: "subscription ~ inactive", kind: fault.Quota, why: "the plan has ended"},
				{says: "subscription ~ ended", kind: fault.Quota, why: "the plan has ended"},
				{says: "subscription ~ cancel", kind: fault.Quota, why: "the plan has ended"},
			},
			cross(fault.Refused, false, "a policy", []string{"blocked", "rejected", "stopped", "declined", "refused"}, []string{"policy", "policies", "filter", "safety", "moderation", "guideline"}),
			cross(fault.Refused, false, "a policy", []string{"safety", "moderation", "content", "policy", "filter"}, []string{"blocked", "rejected", "violat", "prohibit", "stopped"}),
			cross(fault.Refused, false, "a plan", []string{"only"}, []string{"available on", "offered on", "included in", "allowed for", "enabled for"}),
			cross(fault.Auth, false, "credentials", []string{"api key", "access key", "secret key", "bearer", "credential"}, []string{
				"invalid", "revoked", "expired", "disabled", "not valid", "unknown", "not found", "rotated", "deleted", "inactive", "not recogni", "missing", "malformed", "incorrect",
			}),
			cross(fault.Auth, false, "credentials", []string{"invalid", "incorrect", "missing", "unknown", "expired", "revoked", "wrong", "bad", "no"}, []string{"api key", "credential", "access token", "bearer", "auth"}),
			cross(fault.Invalid, false, "the model", []string{"model", "deployment", "endpoint"}, []string{"retired", "deprecated", "decommissioned", "sunset", "not exist"}),
		),
	}
}

// join puts lists of rows one behind the other.
func join(lists ...[]row) []row {
	var all []row
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

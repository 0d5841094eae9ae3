package classify

import (
	"slices"

	"github.com/ridethrough/ridethrough/fault"
)

// combine returns a row for each of the first words with each of the second shortly after it: a noun and
// its state, or a verb and its object.
func combine(kind fault.Kind, window bool, why string, firsts, seconds []string) []row {
	rows := make([]row, 0, len(firsts)*len(seconds))
	for _, a := range firsts {
		for _, b := range seconds {
			rows = append(rows, row{text: a + " ~ " + b, kind: kind, window: window, reason: why})
		}
	}
	return rows
}

// Words of money and of usage windows.
var (
	moneyNouns = []string{"credit", "balance", "funds", "budget", "wallet", "prepaid", "billing", "payment", "invoice"}
	grantNouns = []string{"quota", "allowance", "allocation", "allotment", "grant", "trial", "plan limit", "resource pack", "included requests"}
	spentWords = []string{
		"exhausted", "depleted", "used up", "run out", "ran out", "insufficient", "too low", "not enough", "empty",
		"zero", "negative", "below", "consumed", "spent", "expired", "exceeded", "is 0", "is $0", "ended", "overdrawn", "gone",
	}
	spendVerbs = []string{
		"insufficient", "not enough", "out of", "exhausted", "used all", "used up", "consumed", "exceeded", "spent",
		"depleted", "recharge", "refill", "deposit", "requires more", "lack",
	}
	windowAdjectives = []string{"daily", "weekly", "monthly", "hourly", "yearly", "annual"}
	windowPhrases    = []string{"today", "this week", "this month", "for the day", "for the week", "for the month", "per hour", "24 hour"}
	limitNouns       = []string{
		"limit", "quota", "cap", "allowance", "allocation", "allotment", "grant", "budget", "spend", "usage", "credit", "max",
		"exceeded", "reached", "used", "exhausted", "consumed", "volume",
	}
	countedNouns = []string{"limit", "quota", "cap", "allowance", "tokens", "requests", "messages", "usage", "used"}
)

// wordPairs returns nouns and verbs near each other, in all combinations. They are asked after the texts
// that vendors really send.
func wordPairs() table {
	return table{
		vendor:  "word-pairs",
		guessed: true,
		sure:    50,
		texts: slices.Concat(
			combine(fault.Quota, true, "a long window", windowAdjectives, limitNouns),
			combine(fault.Quota, true, "a long window", countedNouns, windowPhrases),
			combine(fault.Quota, true, "spent", grantNouns, spentWords),
			combine(fault.Quota, true, "spent", spendVerbs, grantNouns),
			combine(fault.Quota, false, "spent", moneyNouns[:6], spentWords),
			combine(fault.Quota, false, "spent", spendVerbs, moneyNouns[:6]),
			combine(fault.Quota, false, "a cap on money", []string{"spend", "cost", "dollar"}, []string{"cap", "limit", "ceiling"}),
			combine(fault.Quota, false, "a bill", moneyNouns[6:], []string{"fail", "declined", "missing", "invalid", "overdue", "not set up", "not configured", "unpaid", "inactive"}),
			combine(fault.Quota, false, "a bill", []string{"no", "add", "missing", "update"}, []string{"payment", "billing"}),
			combine(fault.Quota, false, "spent", []string{"no", "zero"}, []string{"credits", "funds", "quota", "budget", "allowance"}),
			[]row{
				{text: "used up", kind: fault.Quota, window: true, reason: "spent"},
				{text: "used all", kind: fault.Quota, window: true, reason: "spent"},
				{text: "recharge", kind: fault.Quota, reason: "asks for money", sure: advertised},
				{text: "subscription ~ inactive", kind: fault.Quota, reason: "the plan has ended"},
				{text: "subscription ~ ended", kind: fault.Quota, reason: "the plan has ended"},
				{text: "subscription ~ cancel", kind: fault.Quota, reason: "the plan has ended"},
			},
			combine(fault.Refused, false, "a policy", []string{"blocked", "rejected", "stopped", "declined", "refused"}, []string{"policy", "policies", "filter", "safety", "moderation", "guideline"}),
			combine(fault.Refused, false, "a policy", []string{"safety", "moderation", "content", "policy", "filter"}, []string{"blocked", "rejected", "violat", "prohibit", "stopped"}),
			combine(fault.Refused, false, "a plan", []string{"only"}, []string{"available on", "offered on", "included in", "allowed for", "enabled for"}),
			combine(fault.Auth, false, "credentials", []string{"api key", "access key", "secret key", "bearer", "credential"}, []string{
				"invalid", "revoked", "expired", "disabled", "not valid", "unknown", "not found", "rotated", "deleted", "inactive", "not recogni", "missing", "malformed", "incorrect",
			}),
			combine(fault.Auth, false, "credentials", []string{"invalid", "incorrect", "missing", "unknown", "expired", "revoked", "wrong", "bad", "no"}, []string{"api key", "credential", "access token", "bearer", "auth"}),
			combine(fault.Invalid, false, "the model", []string{"model", "deployment", "endpoint"}, []string{"retired", "deprecated", "decommissioned", "sunset", "not exist"}),
		),
	}
}

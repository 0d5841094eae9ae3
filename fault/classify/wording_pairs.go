package classify

import (
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// combine returns a row for each of the first words with each of the second shortly after it: a noun and
// its state, or a verb and its object. There is a bar between two words: lists of them would be several times as
// much code.
func combine(kind fault.Kind, window bool, why, firsts, seconds string) (rows []row) {
	for a := range strings.SplitSeq(firsts, "|") {
		for b := range strings.SplitSeq(seconds, "|") {
			rows = append(rows, row{text: a + " ~ " + b, kind: kind, window: window, reason: why})
		}
	}
	return rows
}

// Words of money and of usage windows, with a bar between them.
const (
	moneyNouns       = "credit|balance|funds|budget|wallet|prepaid"
	billNouns        = "billing|payment|invoice"
	grantNouns       = "quota|allowance|allocation|allotment|grant|trial|plan limit|resource pack|included requests"
	spentWords       = "exhausted|depleted|used up|run out|ran out|insufficient|too low|not enough|empty|zero|negative|below|consumed|spent|expired|exceeded|is 0|is $0|ended|overdrawn|gone"
	spendVerbs       = "insufficient|not enough|out of|exhausted|used all|used up|consumed|exceeded|spent|depleted|recharge|refill|deposit|requires more|lack"
	windowAdjectives = "daily|weekly|monthly|hourly|yearly|annual"
	windowPhrases    = "today|this week|this month|for the day|for the week|for the month|per hour|24 hour"
	limitNouns       = "limit|quota|cap|allowance|allocation|allotment|grant|budget|spend|usage|credit|max|exceeded|reached|used|exhausted|consumed|volume"
	countedNouns     = "limit|quota|cap|allowance|tokens|requests|messages|usage|used"
)

// wordPairs returns nouns and verbs near each other, in all combinations. They are asked after the texts
// that vendors really send.
func wordPairs() *table {
	return &table{
		vendor:  "word-pairs",
		guessed: true,
		sure:    50,
		texts: slices.Concat(
			combine(fault.Quota, true, "a long window", windowAdjectives, limitNouns),
			combine(fault.Quota, true, "a long window", countedNouns, windowPhrases),
			combine(fault.Quota, true, "spent", grantNouns, spentWords),
			combine(fault.Quota, true, "spent", spendVerbs, grantNouns),
			combine(fault.Quota, false, "spent", moneyNouns, spentWords),
			combine(fault.Quota, false, "spent", spendVerbs, moneyNouns),
			combine(fault.Quota, false, "a cap on money", "spend|cost|dollar", "cap|limit|ceiling"),
			combine(fault.Quota, false, "a bill", billNouns, "fail|declined|missing|invalid|overdue|not set up|not configured|unpaid|inactive"),
			combine(fault.Quota, false, "a bill", "no|add|missing|update", "payment|billing"),
			combine(fault.Quota, false, "spent", "no|zero", "credits|funds|quota|budget|allowance"),
			[]row{
				{text: "used up", kind: fault.Quota, window: true, reason: "spent"},
				{text: "used all", kind: fault.Quota, window: true, reason: "spent"},
				{text: "recharge", kind: fault.Quota, reason: "asks for money", sure: advertised},
				{text: "subscription ~ inactive", kind: fault.Quota, reason: "the plan has ended"},
				{text: "subscription ~ ended", kind: fault.Quota, reason: "the plan has ended"},
				{text: "subscription ~ cancel", kind: fault.Quota, reason: "the plan has ended"},
			},
			combine(fault.Refused, false, "a policy", "blocked|rejected|stopped|declined|refused", "policy|policies|filter|safety|moderation|guideline"),
			combine(fault.Refused, false, "a policy", "safety|moderation|content|policy|filter", "blocked|rejected|violat|prohibit|stopped"),
			combine(fault.Refused, false, "a plan", "only", "available on|offered on|included in|allowed for|enabled for"),
			combine(fault.Auth, false, "credentials", "api key|access key|secret key|bearer|credential", "invalid|revoked|expired|disabled|not valid|unknown|not found|rotated|deleted|inactive|not recogni|missing|malformed|incorrect"),
			combine(fault.Auth, false, "credentials", "invalid|incorrect|missing|unknown|expired|revoked|wrong|bad|no", "api key|credential|access token|bearer|auth"),
			combine(fault.Invalid, false, "the model", "model|deployment|endpoint", "retired|deprecated|decommissioned|sunset|not exist"),
		),
	}
}

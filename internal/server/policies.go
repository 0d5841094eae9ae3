package server

import (
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// Policy is a policy that somebody may go by, for people.
type Policy struct {
	Name     string
	Preset   bool     // it is there without a configuration
	UsedBy   []string // upstreams, routes, "conversations"
	Sentence string   // what it comes to
	Policy   policy.Policy
}

// Of a policy with many retries some are shown; those of one without end are
// not counted.
const (
	retriesShown = 100
	outlookBound = 10_000
)

// outlook is a policy's schedule, as JSON.
type outlook struct {
	Name      string     `json:"name"`
	Source    string     `json:"source"` // "preset", "configuration"
	UsedBy    []string   `json:"usedBy"`
	Sentence  string     `json:"sentence"`
	Retries   []schedule `json:"retries"` // the first 100
	Count     int        `json:"count"`   // of all; without end: of those that are shown
	Ends      string     `json:"ends"`    // what is used up: "retries", "sleep", "wall"; "never"
	Total     int64      `json:"totalMs"` // of waiting; without end: of what is shown
	Unlimited bool       `json:"unlimited,omitzero"`
	Sleep     int64      `json:"sleepMs,omitzero"` // its budgets; left out: none
	Wall      int64      `json:"wallMs,omitzero"`
	Hint      int64      `json:"hintMs,omitzero"` // the longest wait that a provider may ask for; left out: what the budgets allow
	Kinds     []string   `json:"kinds"`           // of faults that it tries again
}

// schedule is one retry, as JSON.
type schedule struct {
	N     int   `json:"n"`
	Wait  int64 `json:"waitMs"`
	Least int64 `json:"leastMs"`
	Most  int64 `json:"mostMs"`
	At    int64 `json:"atMs"` // of waiting, with this wait
}

// servePolicies shows what the policies come to in an outage without end.
func (s *Server) servePolicies(w http.ResponseWriter, _ *http.Request) {
	all := []outlook{}
	for _, p := range s.config.Policies() {
		all = append(all, viewPolicy(p))
	}
	answer(w, http.StatusOK, map[string][]outlook{"policies": all})
}

func viewPolicy(p Policy) outlook {
	o := p.Policy.Outlook(outlookBound)
	shown := o.Retries[:min(retriesShown, len(o.Retries))]
	v := outlook{
		Name: p.Name, Source: "configuration", UsedBy: p.UsedBy, Sentence: p.Sentence, Retries: []schedule{}, Kinds: kinds(p.Policy),
		Count: len(o.Retries), Ends: ends(p.Policy, o.Stop), Total: o.Total.Milliseconds(),
		Sleep: p.Policy.MaxWait.Milliseconds(), Wall: p.Policy.Deadline.Milliseconds(), Hint: p.Policy.MaxRetryAfter.Milliseconds(),
	}
	if p.Preset {
		v.Source = "preset"
	}
	if v.UsedBy == nil {
		v.UsedBy = []string{}
	}
	for _, r := range shown {
		v.Retries = append(v.Retries, schedule{r.N, ms(r.Wait), ms(r.Least), ms(r.Most), ms(r.At)})
	}
	if v.Unlimited = o.Stop == ""; v.Unlimited {
		v.Count, v.Total = len(shown), 0
		if len(shown) > 0 {
			v.Total = ms(shown[len(shown)-1].At)
		}
	}
	return v
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

// ends says what of a policy is used up at its end.
func ends(p policy.Policy, why policy.Stop) string {
	switch {
	case why == "":
		return "never"
	case why == policy.OverBudget && p.Deadline > 0 && (p.MaxWait == 0 || p.Deadline < p.MaxWait):
		return "wall"
	case why == policy.OverBudget:
		return "sleep"
	}
	return "retries"
}

// kinds names the faults that a policy tries again.
func kinds(p policy.Policy) []string {
	names := []string{}
	set := p.RetryOn
	if set == 0 {
		set = fault.Transient
	}
	for k := fault.Unknown; k <= fault.Canceled; k++ {
		if set.Has(k) {
			names = append(names, k.String())
		}
	}
	return names
}

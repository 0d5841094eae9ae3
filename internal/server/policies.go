package server

import (
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/policy"
)

// Policy is a policy as /-/policies shows it.
type Policy struct {
	Name     string
	Preset   bool     // it needs no configuration
	UsedBy   []string // upstreams, routes, "conversations"
	Sentence string   // its effect in words
	Policy   policy.Policy
}

// How many retries of a policy are shown, and how many are counted.
const (
	retriesShown = 100
	outlookBound = 10_000
)

type outlook struct {
	Name            string     `json:"name"`
	Source          string     `json:"source"` // "preset", "configuration"
	UsedBy          []string   `json:"usedBy"`
	Sentence        string     `json:"sentence"`
	Retries         []schedule `json:"retries"` // the first 100
	Count           int        `json:"count"`   // of all; if unlimited: of those that are shown
	Ends            string     `json:"ends"`    // what ends it: "retries", "max-total-wait", "deadline"; "never"
	TotalMs         int64      `json:"totalMs"` // of waiting; if unlimited: of what is shown
	Unlimited       bool       `json:"unlimited,omitzero"`
	MaxWaitMs       int64      `json:"maxWaitMs,omitzero"` // its budgets; left out: none
	DeadlineMs      int64      `json:"deadlineMs,omitzero"`
	MaxRetryAfterMs int64      `json:"maxRetryAfterMs,omitzero"` // the longest wait that a provider may ask for; left out: what the budgets allow
	RetryOn         []string   `json:"retryOn"`                  // kinds of faults
}

type schedule struct {
	N       int   `json:"n"`
	WaitMs  int64 `json:"waitMs"`
	LeastMs int64 `json:"leastMs"`
	MostMs  int64 `json:"mostMs"`
	AtMs    int64 `json:"atMs"` // of waiting, this wait included
}

func (s *Server) servePolicies(w http.ResponseWriter, _ *http.Request) {
	all := []outlook{}
	for _, p := range s.config.Policies() {
		all = append(all, viewPolicy(p))
	}
	rest.Answer(w, http.StatusOK, map[string][]outlook{"policies": all})
}

func viewPolicy(p Policy) outlook {
	o := p.Policy.Forecast(outlookBound)
	shown := o.Retries[:min(retriesShown, len(o.Retries))]
	v := outlook{
		Name: p.Name, Source: "configuration", UsedBy: p.UsedBy, Sentence: p.Sentence, Retries: []schedule{}, RetryOn: kinds(p.Policy),
		Count: len(o.Retries), Ends: ends(p.Policy, o.Stop), TotalMs: o.Total.Milliseconds(),
		MaxWaitMs: p.Policy.MaxWait.Milliseconds(), DeadlineMs: p.Policy.Deadline.Milliseconds(), MaxRetryAfterMs: p.Policy.MaxRetryAfter.Milliseconds(),
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
		v.Count, v.TotalMs = len(shown), 0
		if len(shown) > 0 {
			v.TotalMs = ms(shown[len(shown)-1].At)
		}
	}
	return v
}

func ms(d time.Duration) int64 { return d.Milliseconds() }

func ends(p policy.Policy, why policy.Stop) string {
	switch {
	case why == "":
		return "never"
	case why == policy.OverBudget && p.Deadline > 0 && (p.MaxWait == 0 || p.Deadline < p.MaxWait):
		return "deadline"
	case why == policy.OverBudget:
		return "max-total-wait"
	}
	return "retries"
}

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

package live

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// limit is a limit that an upstream states, and how much of it is used, as JSON.
type limit struct {
	Credential string    `json:"credential"`       // whose it is: "own", or the beginning of a digest of the client's
	Model      string    `json:"model,omitzero"`   // left out: it is one of all models
	Name       string    `json:"name"`             // such as "input-tokens", or "5h" of a subscription
	Unit       string    `json:"unit"`             // what it counts
	Limit      float64   `json:"limit,omitzero"`   // left out: only the share is stated
	Remaining  float64   `json:"remaining"`        // of Limit
	Used       int       `json:"usedPercent"`      // in percent
	ResetAt    time.Time `json:"resetAt,omitzero"` // when all of it is there again; left out: unknown
	ResetMs    int64     `json:"resetMs,omitzero"` // until then
}

// limitBound is how many limits of an upstream are shown: those of which the most is used.
const limitBound = 12

// same reports whether a reader would see no difference: every answer changes a limit a little.
func (v limit) same(o limit) bool {
	v.Remaining, v.ResetAt, v.ResetMs = o.Remaining, o.ResetAt, o.ResetMs
	return v == o
}

// viewLimits returns the limits of which the most is used.
func viewLimits(all []ratelimit.Headroom, now time.Time) []limit {
	var views []limit
	for _, h := range all {
		for _, l := range h.Limits {
			views = append(views, limit{
				Credential: api.Credential(h.Credential), Model: h.Model, Name: l.Name, Unit: string(l.Unit), Limit: l.Limit, Remaining: l.Remaining,
				Used: api.Percent(l.Used), ResetAt: api.Time(l.Reset), ResetMs: api.RemainingMs(l.Reset, now),
			})
		}
	}
	sort.SliceStable(views, func(i, j int) bool {
		a, b := views[i], views[j]
		return cmp.Or(b.Used-a.Used, strings.Compare(a.Model, b.Model), strings.Compare(a.Name, b.Name), strings.Compare(a.Credential, b.Credential)) < 0
	})
	return views[:min(len(views), limitBound)]
}

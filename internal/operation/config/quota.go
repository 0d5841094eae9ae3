package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/policy"
)

// quota says what follows a spent usage window; its zero fields are set elsewhere.
type quota struct {
	wait     string
	windows  int
	max      time.Duration
	notAfter time.Duration
}

// DefaultQuota is the quota of the gateway's requests without one in the file.
func DefaultQuota() policy.Quota {
	return policy.Quota{Wait: policy.QuotaUntilReset, Windows: 1, Max: 5 * time.Hour}
}

// quotas is the codec of a quota. usual adds the defaults, which routes and upstreams do not have.
func quotas(name string, usual bool) codec[quota] {
	unset := func(def string) (string, string) {
		if usual {
			return def, ""
		}
		return "", "that of the file, or of the upstream"
	}
	doc := func(about, def string) fieldDoc {
		def, otherwise := unset(def)
		return fieldDoc{about, def, otherwise}
	}
	return object(
		&schema{name: name, about: "What follows when a usage window is spent and the provider says when it opens again.", expected: "the fields of a quota"}, nil,
		newField("wait", oneOf("what follows a spent window", string(policy.QuotaStop), string(policy.QuotaUntilReset)), func(q *quota) *string { return &q.wait },
			doc("`until-reset` keeps the call waiting until the window opens; the wait takes nothing from the policy's budget. `stop` ends the call at once.", string(policy.QuotaUntilReset))),
		newField("windows", integer("a number from 1", 1, 1000), func(q *quota) *int { return &q.windows },
			fieldDoc{"How many windows a call waits for, one after the other.", "", "one"}),
		newField("max", limit(), func(q *quota) *time.Duration { return &q.max },
			doc("The longest wait for one window. A longer one ends the call at once, with the time when it opens.", "5h")),
		newField("not-after", timeOfDay(), func(q *quota) *time.Duration { return &q.notAfter },
			fieldDoc{"The time of day, in the zone of this machine, by which the window must open. It counts from the beginning of the call: a call of the evening waits until this time of the next morning.", "", "any time"}),
	)
}

// timeOfDay is the codec of a time of day, since midnight. 0 is none, and midnight the end of the day.
func timeOfDay() codec[time.Duration] {
	return scalar(&schema{Pattern: `^([01][0-9]|2[0-3]):[0-5][0-9]$`, expected: `a time of day such as "06:00"`},
		func(s string) (time.Duration, error) {
			at, err := time.Parse("15:04", s)
			if err != nil || len(s) != len("15:04") {
				return 0, errForm
			}
			return cmp.Or(time.Duration(at.Hour())*time.Hour+time.Duration(at.Minute())*time.Minute, day), nil
		},
		func(d time.Duration) string {
			return fmt.Sprintf("%02d:%02d", int(d/time.Hour)%24, int(d/time.Minute)%60)
		})
}

// over returns the quota with the fields that it leaves open from another one.
func (q quota) over(other quota) quota {
	return quota{cmp.Or(q.wait, other.wait), cmp.Or(q.windows, other.windows), cmp.Or(q.max, other.max), cmp.Or(q.notAfter, other.notAfter)}
}

// quotaOf returns what follows a spent window where a quota of an upstream or a route holds. Without one in the file
// that is the command's default.
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

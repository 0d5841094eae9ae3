package llmtest

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// rides are what a caller gets under the policy Interactive.
var rides = []struct {
	replies string
	tries   int
	kind    fault.Kind // Unknown: it passes
	said    string
}{
	{"ok", 1, fault.Unknown, "one two three"},
	{"529*10, ok", 11, fault.Unknown, "one two three"},
	{"529*11, ok", 11, fault.Overloaded, ""},
	{"503, refused, reset, error-first, role-error, error-200, cut:0, cut:0:clean, empty, ok", 10, fault.Unknown, "one two three"},
	{"400, ok", 1, fault.Invalid, ""},
	{"401, ok", 1, fault.Auth, ""},
	{"403, ok", 1, fault.Refused, ""},
	{"422, ok", 1, fault.Invalid, ""},
	{"too-long, ok", 1, fault.TooLong, ""},
	{"quota, ok", 1, fault.Quota, ""},
	{"blocked, ok", 1, fault.Refused, ""},
}

// retries tests package retry with a model: it is correct only if the
// model returns the right faults and yields nothing too early.
func (s Suite) retries(t *testing.T) {
	for _, row := range rides {
		s.each(t, row.replies, row.replies, func(r *room) {
			r.rides(row.tries, row.kind, row.said)
		})
	}
	s.each(t, "a wait that the provider asks for", "429;retry-after=7, ok", func(r *room) {
		begun := time.Now()
		r.rides(2, fault.Unknown, "one two three")
		if took := time.Since(begun); took < 7*time.Second || took > 9*time.Second {
			r.Errorf("it took %v", took)
		}
	})
	s.each(t, "nothing after the first word", "cut:1, ok", func(r *room) {
		if r.whole {
			r.rides(2, fault.Unknown, "one two three") // half a body is no word
			return
		}
		r.rides(1, fault.Truncated, "one ")
	})
	thought := `think:"hm, so"+say:yes+cut:1, ok`
	if s.Sealed { // it is none of the pieces that a cut counts
		thought = `think:"hm, so"+say:yes+cut:0, ok`
	}
	s.each(t, "nothing after the first thought", thought, func(r *room) {
		if r.whole || s.Sealed {
			r.rides(2, fault.Unknown, "one two three")
			return
		}
		r.rides(1, fault.Truncated, "")
	})
	s.in(t, "no-such-model", "", false, func(r *room) { r.rides(1, fault.Invalid, "") })
}

// rides sends a request under the policy Interactive.
func (r *room) rides(tries int, kind fault.Kind, said string) {
	r.Helper()
	r.ridesWith(thinking(), tries, kind, said)
}

// ridesWith sends some request under the policy Interactive.
func (r *room) ridesWith(q llm.Request, tries int, kind fault.Kind, said string) {
	r.Helper()
	q.NoStream = r.whole
	retrier := retry.Retrier{Policy: policy.Interactive()}
	answer := retry.Stream(r.Context(), retrier, llm.IsContent, func(ctx context.Context, _ int) iter.Seq2[llm.Part, error] {
		return r.model.Stream(ctx, q)
	})
	var c llm.Collector
	var failed error
	for p, err := range answer {
		if err != nil {
			failed = err
			break
		}
		c.Add(p)
	}
	f, ok := errors.AsType[*fault.Error](failed)
	if kind == fault.Unknown && failed != nil || kind != fault.Unknown && (!ok || f.Kind != kind) {
		r.Errorf("it ends with %v", failed)
	}
	if c.Content().Text() != said {
		r.Errorf("%q, want %q", c.Content().Text(), said)
	}
	r.asked(tries)
}

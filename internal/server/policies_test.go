package server_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/policy"
)

func TestPolicies_ListSchedules(t *testing.T) {
	s := server.New(server.Config{Log: slog.New(slog.DiscardHandler), Gateway: &fake{}, Policies: func() []server.Policy {
		return []server.Policy{
			{Name: "interactive", Preset: true, UsedBy: []string{"anthropic"}, Sentence: "10 retries.", Policy: policy.Interactive()},
			{Name: "never", Policy: policy.Policy{}},
			{Name: "ever", Policy: policy.Policy{Retries: policy.Unlimited, Backoff: policy.Backoff{Steps: []time.Duration{time.Minute}}, RetryOn: fault.Set(0).With(fault.Unknown)}},
			{Name: "patient", Policy: policy.Patient()},
			{Name: "council", Policy: policy.Policy{Retries: 100, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}, Deadline: 10 * time.Second}},
		}
	}})
	got := decoded(t, ask(s, request("GET", "/-/policies", "")).Body.String())["policies"].([]any)
	all := map[string]map[string]any{}
	for _, p := range got {
		all[p.(map[string]any)["name"].(string)] = p.(map[string]any)
	}
	first := all["interactive"]
	want := map[string]any{"n": 1.0, "waitMs": 1000.0, "leastMs": 900.0, "mostMs": 1100.0, "atMs": 1000.0}
	if diff := cmp.Diff(want, first["retries"].([]any)[0]); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		name, member string
		want         any
	}{
		{"interactive", "source", "preset"},
		{"interactive", "usedBy", []any{"anthropic"}},
		{"interactive", "sentence", "10 retries."},
		{"interactive", "count", 10.0},
		{"interactive", "ends", "retries"},
		{"interactive", "maxRetryAfterMs", 300_000.0},
		{"interactive", "retryOn", []any{"rate-limited", "overloaded", "unavailable", "truncated", "upstream-timeout", "timeout"}},
		{"never", "source", "configuration"},
		{"never", "retries", []any{}},
		{"never", "usedBy", []any{}},
		{"never", "ends", "retries"},
		{"ever", "ends", "never"},
		{"ever", "unlimited", true},
		{"ever", "count", 100.0},
		{"ever", "totalMs", 6_000_000.0},
		{"ever", "retryOn", []any{"unknown"}},
		{"patient", "ends", "max-total-wait"},
		{"patient", "count", 21.0},
		{"patient", "totalMs", 27_105_000.0},
		{"patient", "maxWaitMs", 28_800_000.0},
		{"patient", "unlimited", nil},
		{"council", "ends", "deadline"},
		{"council", "deadlineMs", 10_000.0},
	} {
		if diff := cmp.Diff(c.want, all[c.name][c.member]); diff != "" {
			t.Errorf("%s, %s: %s", c.name, c.member, diff)
		}
	}
	if w := ask(server.New(server.Config{Gateway: &fake{}}), request("GET", "/-/policies", "")); w.Body.String() != "{\"policies\":[]}\n" {
		t.Errorf("without any: %s", w.Body)
	}
}

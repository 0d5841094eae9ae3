package policy_test

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// A supervisor asks about a crash, waits by itself, and asks again.
func ExamplePolicy_Next() {
	p := policy.Worker()
	p.Backoff.Jitter = policy.Jitter{}
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
	run := policy.Run{Started: now}
	crash := &fault.Error{Kind: fault.Unavailable, Message: "worker died"}
	for range 3 {
		var v policy.Verdict
		run, v = p.Next(run, crash, false, now, 0)
		fmt.Println(run.Tries, v.Wait)
		now = now.Add(v.Wait)
	}
	// Output:
	// 1 3s
	// 2 5s
	// 3 10s
}

// A provider that asks for a longer wait than the policy allows ends the run.
func ExamplePolicy_Next_hint() {
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
	limit := &fault.Error{Kind: fault.RateLimited, Status: 429, Wait: 2 * time.Minute}
	_, v := policy.Interactive().Next(policy.Run{Started: now}, limit, false, now, 0.5)
	fmt.Println(v.Wait, v.Hinted)
	_, v = policy.Simple().Next(policy.Run{Started: now}, limit, false, now, 0.5)
	fmt.Println(v.Stop)
	// Output:
	// 2m0s true
	// retry-after too long
}

func ExampleBackoff_At() {
	s := policy.Backoff{Steps: []time.Duration{time.Second, 5 * time.Second}, Factor: 3, Max: time.Minute}
	for k := 1; k <= 5; k++ {
		fmt.Print(s.At(k, 0), " ")
	}
	// Output: 1s 5s 15s 45s 1m0s
}

// A policy can be tried out before an outage does it.
func ExamplePolicy_Forecast() {
	o := policy.Simple().Forecast(100)
	for _, r := range o.Retries {
		fmt.Println(r.N, r.Wait, r.At)
	}
	fmt.Println(o.Stop, o.Total)
	// Output:
	// 1 1s 1s
	// 2 2s 3s
	// 3 4s 7s
	// exhausted 7s
}

// A gateway says until when a call may wait at most.
func ExamplePolicy_LatestWait() {
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
	p := policy.Policy{Retries: 5, Backoff: policy.Backoff{Steps: []time.Duration{10 * time.Minute}}, MaxWait: time.Hour}
	fmt.Println(p.LatestWait(policy.Run{}, now).Format(time.TimeOnly))
	// Output: 21:50:00
}

// A usage window of five hours is waited for beside the policy's own retries.
func ExampleQuota() {
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
	p := policy.Simple()
	p.Quota = policy.Quota{Wait: policy.QuotaUntilReset, Max: 5 * time.Hour}
	spent := &fault.Error{Kind: fault.Quota, Window: true, ResetAt: now.Add(3 * time.Hour)}
	r, v := p.Next(policy.Run{}, spent, false, now, 0)
	fmt.Println(v.Wait, v.Window, r.Slept)
	spent.ResetAt = now.Add(100 * time.Hour)
	_, v = p.Next(policy.Run{}, spent, false, now, 0)
	fmt.Println(v.Stop)
	// Output:
	// 3h0m0s true 0s
	// retry-after too long
}

// Programs let their users choose a policy by its name.
func ExamplePreset() {
	p, ok := policy.Preset("interactive")
	fmt.Println(p.Retries, ok)
	_, ok = policy.Preset("hopeful")
	fmt.Println(ok, policy.Presets())
	// Output:
	// 10 true
	// false [patient interactive attended worker simple council]
}

package policy_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

func TestForecast_IsWhatNextReturns(t *testing.T) {
	for _, name := range policy.Presets() {
		p, _ := policy.Preset(name)
		o := p.Forecast(100)
		p.Backoff.Jitter = policy.Jitter{}
		all, r, stop := waits(p, overloaded, 0)
		if len(o.Retries) != len(all) || o.Total != r.Slept || o.Stop != stop {
			t.Fatalf("%s: %d retries, %v, %q; want %d, %v, %q", name, len(o.Retries), o.Total, o.Stop, len(all), r.Slept, stop)
		}
		sum := time.Duration(0)
		for i, k := range o.Retries {
			if sum += all[i]; k.N != i+1 || k.Wait != all[i] || k.At != sum {
				t.Errorf("%s: retry %+v, want number %d after %v, at %v", name, k, i+1, all[i], sum)
			}
		}
	}
}

func TestForecast_ShowsTheEndsOfJitter(t *testing.T) {
	s := time.Second
	tests := []struct {
		name              string
		n                 int
		least, wait, most time.Duration
	}{
		{"patient", 9, 1800 * s, 1800 * s, 1800 * s},
		{"interactive", 5, 14400 * time.Millisecond, 16 * s, 17600 * time.Millisecond},
		{"interactive", 6, 28800 * time.Millisecond, 30 * s, 30 * s}, // Max is applied last
		{"worker", 1, 3 * s, 3 * s, 3300 * time.Millisecond},
	}
	for _, tt := range tests {
		p, _ := policy.Preset(tt.name)
		k := p.Forecast(10).Retries[tt.n-1]
		if k.Least != tt.least || k.Wait != tt.wait || k.Most != tt.most {
			t.Errorf("%s, retry %d: %v, %v, %v; want %v, %v, %v", tt.name, tt.n, k.Least, k.Wait, k.Most, tt.least, tt.wait, tt.most)
		}
	}
}

func TestForecast_StopsAtItsBound(t *testing.T) {
	p := policy.Policy{Retries: policy.Unlimited, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}}
	if o := p.Forecast(7); len(o.Retries) != 7 || o.Stop != "" || o.Total != 7*time.Second {
		t.Errorf("%d retries, %q, %v; want 7, no end, 7s", len(o.Retries), o.Stop, o.Total)
	}
	p.Retries = 7
	if o := p.Forecast(7); o.Stop != policy.Exhausted {
		t.Errorf("an end at the bound itself is %q, want exhausted", o.Stop)
	}
}

func TestForecast_UsesAFaultThatIsRetried(t *testing.T) {
	p := policy.Policy{Retries: 2, RetryOn: fault.Set(0).With(fault.RateLimited)}
	if o := p.Forecast(9); len(o.Retries) != 2 || o.Stop != policy.Exhausted {
		t.Errorf("%d retries, %q; want 2, exhausted", len(o.Retries), o.Stop)
	}
	p.RetryOn = fault.Set(0).With(fault.Quota) // without a stated reset it never passes
	if o := p.Forecast(9); len(o.Retries) != 0 || o.Stop != policy.Final {
		t.Errorf("%d retries, %q; want none, final", len(o.Retries), o.Stop)
	}
}

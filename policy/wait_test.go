package policy_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/policy"
)

func TestWait_CountsRetries(t *testing.T) {
	tests := []struct {
		name           string
		wait           policy.Wait
		retry, retries int
	}{
		{"after the first try", policy.Wait{Run: policy.Run{Tries: 1}, Fault: &overloaded}, 1, 0},
		{"after the third try", policy.Wait{Run: policy.Run{Tries: 3}, Fault: &overloaded}, 3, 2},
		{"before the first try", policy.Wait{Fault: &overloaded}, 0, 0},
		{"recovered", policy.Wait{Run: policy.Run{Tries: 3}}, 3, 3},
	}
	for _, tt := range tests {
		if retry, retries := tt.wait.Retry(), tt.wait.Retries(); retry != tt.retry || retries != tt.retries {
			t.Errorf("%s: retry %d after %d retries, want %d after %d", tt.name, retry, retries, tt.retry, tt.retries)
		}
	}
}

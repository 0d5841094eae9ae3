package classify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func TestOf_LimitOfTheProgramItself(t *testing.T) {
	tests := []struct {
		text string
		want fault.Kind
	}{
		{"opus timed out after 270s", fault.Timeout},
		{"Error: Request timed out after 60000ms", fault.Timeout},
		{"connection timed out after 10 seconds", fault.UpstreamTimeout},
		{"upstream request timed out after 30s", fault.UpstreamTimeout},
	}
	for _, tt := range tests {
		if got := classify.Of(errors.New(tt.text), time.Time{}).Kind; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

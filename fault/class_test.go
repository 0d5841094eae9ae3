package fault_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/fault"
)

func TestError_Class(t *testing.T) {
	tests := []struct {
		fault fault.Error
		class fault.Class
		again bool
	}{
		{fault.Error{Kind: fault.Timeout}, fault.ClassTimeout, true},
		{fault.Error{Kind: fault.UpstreamTimeout}, fault.ClassTransient, true},
		{fault.Error{Kind: fault.RateLimited}, fault.ClassTransient, true},
		{fault.Error{Kind: fault.Overloaded}, fault.ClassTransient, true},
		{fault.Error{Kind: fault.Unavailable}, fault.ClassTransient, true},
		{fault.Error{Kind: fault.Truncated}, fault.ClassTransient, true},
		{fault.Error{Kind: fault.Quota}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.Auth}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.Invalid}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.Refused}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.TooLong}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.Canceled}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.Unknown}, fault.ClassUnknown, false},
		{fault.Error{Kind: 99}, fault.ClassUnknown, false},
		{fault.Error{Kind: fault.Overloaded, Final: true}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.Timeout, Final: true}, fault.ClassPermanent, false},
		{fault.Error{Kind: fault.Unknown, Final: true}, fault.ClassUnknown, false},
	}
	for _, tt := range tests {
		if tt.fault.Class() != tt.class || tt.fault.Retryable() != tt.again {
			t.Errorf("kind %v, final %v: class %s, retryable %v; want %s, %v", tt.fault.Kind, tt.fault.Final, tt.fault.Class(), tt.fault.Retryable(), tt.class, tt.again)
		}
	}
}

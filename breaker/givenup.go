package breaker

import "github.com/ridethrough/ridethrough/fault"

// GivenUp ends a run that somebody gave up: ErrGivenUp and the fault that the
// call had met last.
type GivenUp struct{ Fault *fault.Error }

// Error gives the fault's words behind "given up".
func (e *GivenUp) Error() string { return ErrGivenUp.Error() + ": " + e.Fault.Error() }

// Unwrap gives both.
func (e *GivenUp) Unwrap() []error { return []error{ErrGivenUp, e.Fault} }

// givenUp is the error that ends the call's run.
func (c *Caller) givenUp() error {
	if c.last == nil {
		return ErrGivenUp
	}
	return &GivenUp{c.last}
}

package retry

import (
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/policy"
)

// Error is how a run ends that gives up.
type Error struct {
	Tries  int           // that have failed
	Waited time.Duration // real waiting between them
	Stop   policy.Stop   // why no other try follows
	Last   *fault.Error  // the last try's; nil: it was given up on command before one failed
}

// Error is the last fault's text; after several tries it says how many there were.
func (e *Error) Error() string {
	switch {
	case e.Stop == policy.GivenUp && e.Last == nil:
		return fmt.Sprint(ErrGivenUp)
	case e.Stop == policy.GivenUp:
		return fmt.Sprintf("%v: %v", ErrGivenUp, e.Last)
	case e.Tries <= 1:
		return e.Last.Error()
	}
	return fmt.Sprintf("gave up after %d tries in %v: %v", e.Tries, e.Waited.Round(time.Second), e.Last)
}

// Unwrap returns the last fault, if there is one.
func (e *Error) Unwrap() error {
	if e.Last == nil {
		return nil
	}
	return e.Last
}

// Is reports whether the target is ErrGivenUp and the run was given up.
func (e *Error) Is(target error) bool { return target == ErrGivenUp && e.Stop == policy.GivenUp }

// Transient marks err as worth another try. What a fault in its chain says
// besides, such as a stated wait, is kept. A nil error stays nil.
func Transient(err error) error {
	return refault(err, func(f *fault.Error) {
		if f.Final = false; !fault.Transient.Has(f.Kind) {
			f.Kind = fault.Unavailable
		}
	})
}

// Permanent marks err as not worth another try, whatever the policy. A nil
// error stays nil.
func Permanent(err error) error {
	return refault(err, func(f *fault.Error) { f.Final = true })
}

// refault returns err as a fault that is changed.
func refault(err error, change func(*fault.Error)) error {
	if err == nil {
		return nil
	}
	f := *classify.Of(err, time.Now())
	f.Err = err
	change(&f)
	return &f
}

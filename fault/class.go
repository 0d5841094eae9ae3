package fault

// Class is one of four classes of fault, for callers that do not need kinds.
type Class string

// The classes. ClassTimeout is only a time limit of this program; a timeout that the server or the network
// reports (504, ETIMEDOUT) is transient. ClassPermanent covers all that needs a change first: credentials,
// the request, a spent account, a context that is too long; and a caller that has left.
const (
	ClassTimeout   Class = "timeout"
	ClassTransient Class = "transient"
	ClassPermanent Class = "permanent"
	ClassUnknown   Class = "unknown"
)

// Class returns the fault's class. A final fault is permanent, unless its kind is Unknown.
func (e *Error) Class() Class {
	switch {
	case e.Kind == Unknown || e.Kind >= kinds:
		return ClassUnknown
	case e.Final || !Transient.Has(e.Kind):
		return ClassPermanent
	case e.Kind == Timeout:
		return ClassTimeout
	}
	return ClassTransient
}

// Retryable reports whether the same request can succeed later by itself: the kinds of [Transient], unless
// the fault is final.
//
// Quota is not among them although it may pass at ResetAt, nor is Unknown although another try may be worth
// it: a policy lists those if it wants to.
func (e *Error) Retryable() bool { return Transient.Has(e.Kind) && !e.Final }

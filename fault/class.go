package fault

// Class is a fault in the four words of programs that know no kinds.
type Class string

// The classes. Only a limit of ours that expired is a timeout: where the peer or
// the network says that it took too long (504, ETIMEDOUT), the fault passes like
// any other of theirs, and is transient. What needs somebody to do something
// first is permanent: credentials, the request, a spent account, a context that
// is too long, and a caller who has left.
const (
	ClassTimeout   Class = "timeout"
	ClassTransient Class = "transient"
	ClassPermanent Class = "permanent"
	ClassUnknown   Class = "unknown"
)

// Class gives the fault in these four words. A provider that forbids another try
// (Final) makes every fault but an unknown one permanent.
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

// Retryable tells whether the same request can pass later by itself: the kinds
// of [Transient], unless the provider says that the fault is final.
//
// Quota is not among them although it may pass at ResetAt, nor is Unknown
// although another try may be worth it: both are for a policy to decide, which
// lists them if it wants to.
func (e *Error) Retryable() bool { return Transient.Has(e.Kind) && !e.Final }

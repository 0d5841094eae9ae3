package fault

// Kind is what a fault means for the next try of the same request.
type Kind uint8

// The kinds. The comment says where a kind comes from and whether it passes by
// itself.
const (
	Unknown         Kind = iota // nothing is known about the failure: passes only for a policy that lists it
	RateLimited                 // 429 and its vendor names, a stated wait of at most 15 minutes: passes
	Overloaded                  // 529, 503, capacity, busy, model loading: passes
	Unavailable                 // 500, 502, refused, reset, unreachable, closed before an answer: passes
	Truncated                   // the answer broke off, or ended without its terminator: passes
	UpstreamTimeout             // 408, 504, ETIMEDOUT: the peer or the network says so: passes
	Timeout                     // a limit of ours expired: passes
	Quota                       // the account or a long window is spent: passes at ResetAt, if that is known
	Auth                        // credentials: final
	Invalid                     // our request: final
	Refused                     // policy, geography, plan: final
	TooLong                     // context overflow or body too large: final for this payload
	Canceled                    // the caller left: no fault of anybody
	kinds                       // how many there are
)

// texts holds, for each kind, its name on the wire and its text on a screen.
var texts = [kinds]struct{ name, plain string }{
	Unknown:         {"unknown", "unknown failure"},
	RateLimited:     {"rate-limited", "rate limited"},
	Overloaded:      {"overloaded", "server overloaded"},
	Unavailable:     {"unavailable", "server error"},
	Truncated:       {"truncated", "stream dropped"},
	UpstreamTimeout: {"upstream-timeout", "timeout"},
	Timeout:         {"timeout", "timeout"},
	Quota:           {"quota", "usage limit"},
	Auth:            {"auth", "authentication"},
	Invalid:         {"invalid", "bad request"},
	Refused:         {"refused", "refused"},
	TooLong:         {"too-long", "too large"},
	Canceled:        {"canceled", "canceled"},
}

// String gives the kind's name on the wire, in kebab-case.
func (k Kind) String() string {
	if k >= kinds {
		return texts[Unknown].name
	}
	return texts[k].name
}

// KindOf gives the kind of a name on the wire; Unknown: it is none's.
func KindOf(name string) Kind {
	for k := range kinds {
		if texts[k].name == name {
			return k
		}
	}
	return Unknown
}

// Text gives the kind in the plain words that people see: "server overloaded".
func (k Kind) Text() string {
	if k >= kinds {
		return texts[Unknown].plain
	}
	return texts[k].plain
}

// Set is a set of kinds; the zero Set is empty.
type Set uint32

// Transient holds the kinds that pass by themselves.
const Transient Set = 1<<RateLimited | 1<<Overloaded | 1<<Unavailable | 1<<Truncated | 1<<UpstreamTimeout | 1<<Timeout

// Has tells whether k is in the set.
func (s Set) Has(k Kind) bool { return s&(1<<k) != 0 }

// With gives the set with more kinds in it.
func (s Set) With(more ...Kind) Set {
	for _, k := range more {
		s |= 1 << k
	}
	return s
}

// Without gives the set with kinds taken out.
func (s Set) Without(less ...Kind) Set {
	for _, k := range less {
		s &^= 1 << k
	}
	return s
}

package fault

// Kind is what a fault means for the next try of the same request.
type Kind uint8

// The kinds. "Passes" means that the same request can succeed later without anybody changing anything.
const (
	// Unknown: no rule knows the failure. It is retried only by a policy that lists it.
	Unknown Kind = iota
	// RateLimited: 429 and the vendors' names for it, or a stated wait of at most 15 minutes. It passes.
	RateLimited
	// Overloaded: 529, 503, no capacity, server busy, model loading. It passes.
	Overloaded
	// Unavailable: 500, 502, connection refused or reset, host unreachable, closed before a response. It
	// passes.
	Unavailable
	// Truncated: the answer broke off, or ended without its terminator. It passes.
	Truncated
	// UpstreamTimeout: 408, 504, ETIMEDOUT; the server or the network reports the timeout. It passes.
	UpstreamTimeout
	// Timeout: a time limit of this program expired. It passes.
	Timeout
	// Quota: the account's credit or a long usage window is spent. It passes at ResetAt, if that is known.
	Quota
	// Auth: the credentials are missing or rejected. It is final.
	Auth
	// Invalid: the request itself is wrong. It is final.
	Invalid
	// Refused: a policy, region or plan forbids the request. It is final.
	Refused
	// TooLong: the context window or the size limit of a body is exceeded. It is final for this payload.
	TooLong
	// Canceled: the caller left. It is not a failure of the provider.
	Canceled
	kinds // the number of kinds
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

// String returns the kind's name on the wire, in kebab-case.
func (k Kind) String() string {
	if k >= kinds {
		return texts[Unknown].name
	}
	return texts[k].name
}

// MarshalText implements encoding.TextMarshaler with the name on the wire.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the reverse of MarshalText. A name that is not known is that of Unknown.
func (k *Kind) UnmarshalText(name []byte) error {
	*k = KindOf(string(name))
	return nil
}

// KindOf returns the kind with the given name on the wire, or Unknown.
func KindOf(name string) Kind {
	for k := range kinds {
		if texts[k].name == name {
			return k
		}
	}
	return Unknown
}

// Text returns the kind in words for a screen, such as "server overloaded".
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

// Has reports whether k is in the set.
func (s Set) Has(k Kind) bool { return s&(1<<k) != 0 }

// With returns the set with more kinds in it.
func (s Set) With(more ...Kind) Set {
	for _, k := range more {
		s |= 1 << k
	}
	return s
}

// Without returns the set without the given kinds.
func (s Set) Without(less ...Kind) Set {
	for _, k := range less {
		s &^= 1 << k
	}
	return s
}

package ratelimit

import "github.com/ridethrough/ridethrough/internal/api"

// Charged is what a provider says that an answer has cost, in tokens.
type Charged struct {
	Input   float64 // without what was read from a prompt cache where the provider counts that apart
	Written float64 // of Input, written to a prompt cache
	Hour    float64 // of Written, kept for an hour
	Cached  float64 // read from a prompt cache, and not in Input
	Output  float64
}

// Scan looks for usages in a part of an answer, such as an event of a stream or a whole body. The later ones hold.
func (u *Charged) Scan(part []byte) {
	found := api.Charged(*u)
	found.Scan(part)
	*u = Charged(found)
}

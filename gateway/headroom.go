package gateway

import (
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/ratelimit"
)

// Responded notes the limits that a response states. It implements transport.Observer.
func (s *sharedRequest) Responded(resp *http.Response) {
	k := ratelimit.Key{Upstream: s.at.Name, Credential: s.leader.credentialFor(s.at.upstream), Model: s.at.model}
	for _, crossed := range s.headroom.Observe(k, resp.Header, time.Now()) {
		s.leader.emit(Event{Crossed: &crossed})
	}
}

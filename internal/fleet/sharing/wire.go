package sharing

import (
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/internal/told"
)

// message has the news of one upstream.
type message struct {
	Upstream string     `json:"upstream"`
	News     []wireNews `json:"news"`
}

// wireNews is a breaker.News in a message.
type wireNews struct {
	What       breaker.What  `json:"what"`
	Level      string        `json:"level"`
	Model      string        `json:"model,omitempty"`
	Credential string        `json:"credential,omitempty"` // a digest
	Age        time.Duration `json:"age,omitzero"`
	Begun      time.Duration `json:"begun,omitzero"`
	Wait       time.Duration `json:"wait,omitzero"`
	Probes     int           `json:"probes,omitzero"`
	Waiting    int           `json:"waiting,omitzero"`
	Fault      *told.Fault   `json:"fault,omitempty"` // without its message
}

// wire returns news for a message.
func wire(n breaker.News, now time.Time) wireNews {
	return wireNews{
		What: n.What, Level: n.Level, Model: n.Model, Credential: n.Credential,
		Age: n.Age, Begun: n.Begun, Wait: n.Wait, Probes: n.Probes, Waiting: n.Waiting, Fault: told.NewFault(n.Fault, 0, now),
	}
}

// news returns the news of a message. Its durations count from now, by the clock here.
func (w wireNews) news(now time.Time) breaker.News {
	return breaker.News{
		What: w.What, Circuit: breaker.Circuit{Level: w.Level, Scope: breaker.Scope{Model: w.Model, Credential: w.Credential}},
		Age: told.Duration(w.Age), Begun: told.Duration(w.Begun), Wait: told.Duration(w.Wait), Probes: min(max(w.Probes, 0), 1<<20), Waiting: min(max(w.Waiting, 0), 1<<24),
		Fault: w.Fault.Error(breaker.SharedRule, now),
	}
}

package sharing

import (
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
)

// message has the news of one upstream.
type message struct {
	Upstream string     `json:"upstream"`
	News     []wireNews `json:"news"`
}

// wireNews is a breaker.News in a message.
type wireNews struct {
	What       breaker.What `json:"what"`
	Level      string       `json:"level"`
	Model      string       `json:"model,omitempty"`
	Credential string       `json:"credential,omitempty"` // a digest
	AgeMS      int64        `json:"ageMs,omitempty"`
	WaitMS     int64        `json:"waitMs,omitempty"`
	Probes     int          `json:"probes,omitempty"`
	Waiting    int          `json:"waiting,omitempty"`
	Fault      *wireFault   `json:"fault,omitempty"`
}

// wireFault is a fault in a message. It has nothing that may quote a request.
type wireFault struct {
	Kind    string `json:"kind"`
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	WaitMS  int64  `json:"waitMs,omitempty"`
	ResetMS int64  `json:"resetMs,omitempty"` // until then
	Window  bool   `json:"window,omitempty"`
	Retries int    `json:"retries,omitempty"`
}

// wire returns news for a message.
func wire(n breaker.News, now time.Time) wireNews {
	w := wireNews{
		What: n.What, Level: n.Level, Model: n.Model, Credential: n.Credential,
		AgeMS: n.Age.Milliseconds(), WaitMS: n.Wait.Milliseconds(), Probes: n.Probes, Waiting: n.Waiting,
	}
	if f := n.Fault; f != nil {
		w.Fault = &wireFault{
			Kind: f.Kind.String(), Status: f.Status, Code: f.Code, WaitMS: f.Wait.Milliseconds(), Window: f.Window, Retries: f.Retries,
		}
		if !f.ResetAt.IsZero() {
			w.Fault.ResetMS = max(1, f.ResetAt.Sub(now).Milliseconds())
		}
	}
	return w
}

// news returns the news of a message. Its durations count from now, by the clock here.
func (w wireNews) news(now time.Time) breaker.News {
	n := breaker.News{
		What: w.What, Circuit: breaker.Circuit{Level: w.Level, Scope: breaker.Scope{Model: w.Model, Credential: w.Credential}},
		Age: ms(w.AgeMS), Wait: ms(w.WaitMS), Probes: min(max(w.Probes, 0), 1<<20), Waiting: min(max(w.Waiting, 0), 1<<24),
	}
	if f := w.Fault; f != nil {
		n.Fault = &fault.Error{
			Kind: fault.KindOf(f.Kind), Status: f.Status, Code: f.Code, Wait: ms(f.WaitMS), Window: f.Window, Retries: f.Retries, Rule: "fleet/shared",
		}
		if f.ResetMS > 0 {
			n.Fault.ResetAt = now.Add(ms(f.ResetMS))
		}
	}
	return n
}

// longest bounds a duration in a message.
const longest = 31 * 24 * time.Hour

func ms(n int64) time.Duration {
	return time.Duration(min(max(n, 0), longest.Milliseconds())) * time.Millisecond
}

package wire

import (
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
)

// The types on the wire.
const (
	typeRetry     = "provider-retry"
	typeWaiting   = "provider-waiting"
	typeRecovered = "provider-recovered"
	typeSwitched  = "provider-switched"
	typeError     = "error"
	typeReset     = "reset"
	typeExit      = "exit"
	typeQueued    = "input-queued"
	typeRemoved   = "input-removed"
	typeChanged   = "conversation-changed"
	typeLost      = "connection-lost"
	typeBack      = "connection-back"
)

// Call says whose an event is.
type Call struct {
	ConversationID string `json:"conversationId"`    // the session's; on the gateway the id that the client sent, or ""
	TurnID         string `json:"turnId"`            // on the gateway the request's number
	Provider       string `json:"provider,omitzero"` // the API that is spoken
	Model          string `json:"model,omitzero"`    // as the request names it
	Upstream       string `json:"upstream,omitzero"` // the configured name of who is asked
}

func (c Call) turn() string { return c.TurnID }

// ProviderRetry is sent once for each retry that is about to happen, before
// the wait for it.
type ProviderRetry struct {
	Call
	Attempt    int       `json:"attempt"`             // the number of the retry, from 0
	DelayMs    int64     `json:"delayMs"`             // the wait before it
	Message    string    `json:"message"`             // the provider's words, such as "HTTP 429: …"; shown, never part of a prompt
	Code       string    `json:"code,omitzero"`       // the status, such as "429", or the provider's word where there was none
	Kind       string    `json:"kind"`                // the fault's, such as "rate-limited"
	RequestID  string    `json:"requestId,omitzero"`  // the provider's, for its support
	MaxRetries int       `json:"maxRetries,omitzero"` // left out: there is no limit
	Deadline   time.Time `json:"deadline,omitzero"`   // the latest end of waiting; left out: no budget bounds it
	Reason     string    `json:"reason"`              // whose wait it is: "schedule" or "hint"
}

// ProviderWaiting is sent every 30 seconds of a wait.
type ProviderWaiting struct {
	Call
	Attempt     int   `json:"attempt"`     // of the retry that is waited for, from 0
	RemainingMs int64 `json:"remainingMs"` // until then
}

// ProviderRecovered ends the retries of a call well.
type ProviderRecovered struct {
	Call
	Retries  int   `json:"retries"`
	WaitedMs int64 `json:"waitedMs"`
}

// ProviderSwitched tells that a call goes on at another upstream.
type ProviderSwitched struct {
	Call
	From string `json:"from"`         // the upstream that is left
	To   string `json:"to"`           // the one that is asked from now on
	Why  string `json:"why,omitzero"` // the last words of the one that is left
}

// Error tells that a call has failed for good.
type Error struct {
	Call
	Message   string `json:"message"`
	Kind      string `json:"kind"`
	Code      string `json:"code,omitzero"`
	RequestID string `json:"requestId,omitzero"` // the provider's, for its support
	Retries   int    `json:"retries"`
	WaitedMs  int64  `json:"waitedMs"`
	Committed bool   `json:"committed,omitzero"` // some of the answer had come, so it was not asked for again
}

// Reset tells a reader that asked for what it has missed that some of it is
// not there any more: what follows is all there is.
type Reset struct {
	Reason string `json:"reason"` // "restarted": the id is of another process; "gap": too much has happened since; "unknown": the id is none
}

// Exit is the last event of a command that tells of itself in events.
type Exit struct {
	Status   string `json:"status"` // "done", "failed" or "aborted", as the turn's
	ExitCode int    `json:"exitCode"`
	Message  string `json:"message,omitzero"` // of what it failed, where no other event says so
	Saved    string `json:"saved,omitzero"`   // the file with which one can go on
}

// Type gives "provider-retry".
func (ProviderRetry) Type() string { return typeRetry }

// Type gives "provider-waiting".
func (ProviderWaiting) Type() string { return typeWaiting }

// Type gives "provider-recovered".
func (ProviderRecovered) Type() string { return typeRecovered }

// Type gives "provider-switched".
func (ProviderSwitched) Type() string { return typeSwitched }

// Type gives "error".
func (Error) Type() string { return typeError }

// Type gives "reset".
func (Reset) Type() string { return typeReset }

// Type gives "exit".
func (Exit) Type() string { return typeExit }

// NewRetry gives the event for a failed try that another follows. r is the run
// with that try counted in, limit how many retries there may be, deadline when
// the waiting ends at the latest; zero: no budget bounds it.
func NewRetry(c Call, f *fault.Error, r policy.Run, v policy.Verdict, limit int, deadline time.Time) ProviderRetry {
	return newRetry(c, f, max(0, r.Tries-1), v, limit, deadline)
}

func newRetry(c Call, f *fault.Error, attempt int, v policy.Verdict, limit int, deadline time.Time) ProviderRetry {
	e := ProviderRetry{
		Call: c, Attempt: attempt, DelayMs: v.Wait.Milliseconds(),
		Message: f.Redacted(), Code: f.ShortCode(), Kind: f.Kind.String(), RequestID: f.RequestID,
		MaxRetries: limit, Deadline: instant(deadline), Reason: "schedule",
	}
	if limit == policy.Unlimited {
		e.MaxRetries = 0
	}
	if v.Hinted {
		e.Reason = "hint"
	}
	return e
}

// NewError gives the event for a call that has failed for good after so many
// retries and so much waiting.
func NewError(c Call, f *fault.Error, retries int, waited time.Duration) Error {
	return Error{
		Call: c, Message: f.Redacted(), Kind: f.Kind.String(), Code: f.ShortCode(), RequestID: f.RequestID,
		Retries: retries, WaitedMs: waited.Milliseconds(),
	}
}

// instant gives a time as it is written; zero stays zero.
func instant(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

package wire

import "time"

// LimitUsed means that 80 or 95 % of a limit that an upstream of the gateway states are used. It is sent once, until
// clearly less has been used.
type LimitUsed struct {
	Upstream   string    `json:"upstream"`
	Credential string    `json:"credential"`       // whose limit it is: "own", or the beginning of a digest of the client's
	Model      string    `json:"model,omitzero"`   // left out: it is one of all models
	Limit      string    `json:"limit"`            // its name, such as "input-tokens", or "5h" of a subscription
	Level      int       `json:"level"`            // 80 or 95
	Used       int       `json:"usedPercent"`      // in percent
	ResetAt    time.Time `json:"resetAt,omitzero"` // when all of it is there again; left out: unknown
}

func (LimitUsed) kind() string { return "limit-used" }

// LimitWaiting means that a request at the gateway waits for room below a limit. It is sent where that takes a second or
// more, and LimitWaited follows.
type LimitWaiting struct {
	Ref
	Provider  string `json:"provider"` // the API
	Model     string `json:"model"`
	Upstream  string `json:"upstream"`
	Ahead     int    `json:"ahead"`       // so many requests go before it; 1000: or more
	Limit     string `json:"limit"`       // why it waits, in words: "3 ahead, 40k of 450k tokens/min left, about 12 s"
	Remaining Millis `json:"remainingMs"` // until it goes, about
}

func (LimitWaiting) kind() string { return "limit-waiting" }

// LimitWaited means that a request no longer waits for room below a limit: it has gone, as a rule, or has been given up.
type LimitWaited struct {
	Ref
	Provider string `json:"provider"` // the API
	Model    string `json:"model"`
	Upstream string `json:"upstream"`
	Waited   Millis `json:"waitedMs"`
}

func (LimitWaited) kind() string { return "limit-waited" }

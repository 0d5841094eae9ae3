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

package wire

// ConnectionLost tells that the server which keeps a conversation cannot be
// reached, and when it is asked again. It is of whoever follows the conversation
// from elsewhere: the conversation goes on without them, and what they miss is
// told when the connection is back.
type ConnectionLost struct {
	Message string `json:"message"` // why, such as "connection refused"
	Attempt int    `json:"attempt"` // the number of the retry, from 0
	DelayMs int64  `json:"delayMs"` // until then
}

// ConnectionBack ends it: the server is reached again.
type ConnectionBack struct {
	LostMs int64 `json:"lostMs"` // for how long it was not
}

// Type gives "connection-lost".
func (ConnectionLost) Type() string { return typeLost }

// Type gives "connection-back".
func (ConnectionBack) Type() string { return typeBack }

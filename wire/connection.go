package wire

// ConnectionLost means that the server of a conversation cannot be reached, and
// when the client tries again. The client makes it, not the server: the
// conversation continues, and the client gets what it has missed later.
type ConnectionLost struct {
	Message string  `json:"message"` // why, such as "connection refused"
	Retry   Ordinal `json:"attempt"` // the number of the retry, from 0
	Delay   Millis  `json:"delayMs"` // until that retry
}

// ConnectionBack means that the client has reached the server again.
type ConnectionBack struct {
	Lost Millis `json:"lostMs"` // how long there was no connection
}

func (ConnectionLost) kind() string { return "connection-lost" }
func (ConnectionBack) kind() string { return "connection-back" }

package api

import "time"

// WaitHeader is a header in which an answer states how long to wait, and its unit. Retry-After may have a date too.
type WaitHeader struct {
	Name string
	Unit time.Duration
}

// WaitHeaders returns them, the most precise first: OpenAI's, Azure's and AWS's (milliseconds, as AWS's SDKs read it),
// and that of HTTP (RFC 9110 10.2.3).
func WaitHeaders() [4]WaitHeader {
	return [...]WaitHeader{
		{"Retry-After-Ms", time.Millisecond},
		{"X-Ms-Retry-After-Ms", time.Millisecond},
		{"X-Amz-Retry-After", time.Millisecond},
		{"Retry-After", time.Second},
	}
}

package api

// Some servers keep what a conversation has said so far, and a request names it in place of sending it again. No other
// server knows it, and the server knows an answer by the id that it had itself. So a request that leans on the server's
// memory is sent to no other one, and its answer is never made of two.

// IsNamed reports whether the value of a member of [Definition.Memory] names something.
func IsNamed(value []byte) bool { return !IsEmpty(value) }

// Scanner returns a scanner for the bodies of the API's requests.
func (a *API) Scanner() RequestScanner {
	return RequestScanner{memory: a.is.Memory, noted: a.is.Bounds}
}

// ForgetsSoon reports whether the server keeps what a request leans on for minutes only.
func (a *API) ForgetsSoon() bool { return a.is.Forgotten != nil }

// Forgotten returns the JSON body of a 404 after which the clients of an API that forgets soon send everything.
func (a *API) Forgotten(message string) []byte { return a.is.Forgotten(message) }

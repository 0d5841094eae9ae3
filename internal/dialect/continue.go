package dialect

// Continuer has a text go on that broke off in its middle. It follows one answer from its beginning, and is for one
// goroutine.
//
// The client has been sent text, so no answer may begin again: another request asks the model for the rest, and
// where the two join is found in what it answers.
type Continuer interface {
	// Shown takes what the client has been sent: whole frames, in their order, also of the rest.
	Shown(frames []byte)
	// Continue returns the body of the request for the rest, made from the body of the answer's own request. The error
	// says why that would not be sound; then the answer stays broken off. It may be called again after a rest that
	// broke off too.
	Continue(request []byte) (body []byte, err error)
	// Add takes the next bytes of the rest's stream, and returns the frames that the client is sent in their place: in
	// the first answer's numbers and names, without what it has. The error says that the rest does not fit; nothing of
	// it has been returned then.
	Add(b []byte) (send []byte, err error)
	// End returns what is still to be sent when the rest's stream has ended properly.
	End() (send []byte, err error)
}

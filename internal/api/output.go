package api

// Output is what the end of an answer, without content before it, says about its output.
type Output uint8

// The outputs.
const (
	SomeOutput Output = iota // content, output tokens, or an end for another reason than a plain stop
	NoContent                // a plain stop without content; the usage is not in it
	NoOutput                 // a plain stop without content, and a usage of no output tokens
)

// Output returns what a frame before any content, or a whole body, says about the answer's output. Only
// NoOutput means that nothing was generated: a model may also stop at its first token, by its own judgement.
func (a *API) Output(f Form, frame []byte) Output {
	parts := a.Decode(f, frame)
	return parts.output()
}

// Refusal returns the provider's word for it, if a frame before any content, or a whole body, says that the
// model or a filter refuses to answer; "": it does not. An answer that explains its refusal has content.
func (a *API) Refusal(f Form, frame []byte) string {
	parts := a.Decode(f, frame)
	return parts.refusal()
}

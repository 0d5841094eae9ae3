package api

// Note is what is known of an answer that says nothing of it: the answer is less than it looks. It came with 200, and
// clients take it for a whole one.
type Note string

// The notes.
const (
	AtLimit   Note = "at-limit"   // it says that it is complete, and has every token that its request allows
	NoEnd     Note = "no-end"     // its server did not say that it is complete
	PromptCut Note = "prompt-cut" // the model was not given all of its prompt
)

// Words returns what a note means, for people; "" for no note.
func (n Note) Words() string {
	switch n {
	case AtLimit:
		return "probably cut at max_output_tokens, though it says completed"
	case NoEnd:
		return "its server ended it without done, as Ollama does when a word repeats more than 30 times"
	case PromptCut:
		return "the prompt was cut to the size of the context: raise num_ctx, or send truncate: false to have it refused"
	}
	return ""
}

// Bounds are what bounds an answer, as its request states it.
type Bounds struct {
	Output  int // tokens of the answer; 0: no limit is stated
	Context int // tokens of the prompt and the answer; 0: the server's default
	Size    int // bytes of the request
}

// Ending is what an answer states at its end; zero: that has not been read.
type Ending struct {
	Read    bool
	Stopped bool // it says why it has ended
	Plain   bool // by the model's own judgement
	Usage   Usage
}

// Ending returns what the last frame of an answer, or a whole one, states of its end.
func (a *API) Ending(f Form, frame []byte) (e Ending) {
	if a.is.Note == nil {
		return e
	}
	parts := a.Decode(f, frame)
	return a.EndingOf(&parts)
}

// EndingOf is Ending for a frame of which has been read what it says.
func (a *API) EndingOf(parts *Parts) (e Ending) {
	e.Read, e.Usage = true, parts.Usage
	for i := range parts.n {
		if p := parts.At(i); p.Kind == StopPart {
			e.Stopped, e.Plain = true, p.Why == PlainStop
		}
	}
	return e
}

// Note returns what is known of an answer beyond what it says; "": nothing.
func (a *API) Note(b Bounds, e Ending) Note {
	if a.is.Note == nil || !e.Read {
		return ""
	}
	return a.is.Note(b, e)
}

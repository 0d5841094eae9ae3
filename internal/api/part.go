package api

import "strings"

// PartKind is what a part of an answer is.
type PartKind uint8

// The kinds of a part.
const (
	PingPart      PartKind = iota // nothing of the answer
	StartPart                     // the answer begins, and has no content yet
	OpenPart                      // a block begins; Of is what it has
	TextPart                      // text
	ReasoningPart                 // a model's thoughts that are readable
	SignaturePart                 // what the API wants back with them, unread
	ToolCallPart                  // a tool call begins, with its ID and Name
	ToolInputPart                 // a part of its arguments, as text
	CitationPart                  // a source
	RefusalPart                   // what the model says in place of an answer
	OtherPart                     // more than text, such as an image
	ExtraPart                     // unknown, and a part of the answer
	BesidePart                    // unknown, and beside it
	LogprobsPart                  // probabilities of tokens
	ClosePart                     // a block ends, or if Of is set, a part of one; Text is all of it where the API repeats it
	UsagePart                     // the usage, which is in the Parts
	StopPart                      // the model has stopped; Name is the API's word for the reason
	EndPart                       // the terminator
	ErrorPart                     // an error in place of the answer, or of its rest
)

// StopReason is why a model has stopped.
type StopReason uint8

// The reasons.
const (
	OtherStop      StopReason = iota // a limit, a tool call, or unknown
	PlainStop                        // its own judgement
	RefusedStop                      // it, or a filter, refuses to answer
	UnfinishedStop                   // none yet: the answer is still being made
)

// Part is one thing that a frame says, a view into the frame: ID, Name and Text are raw JSON. The Name of reasoning is
// that of its member, where servers differ in it. Of is SignaturePart in a signature of another kind, and OtherPart in a
// signature that is the reasoning itself, encrypted.
type Part struct {
	Kind  PartKind
	Of    PartKind
	Why   StopReason
	Final bool // a clean end of the stream may follow

	Choice int // of several answers to one request, 0 for the first
	Block  int // of the answer, 1 for its first; 0: blocks have no numbers
	ID     []byte
	Name   []byte
	Text   []byte
}

// String returns what the text stands for.
func (p *Part) String() string { return TextOf(p.Text) }

// isContent reports whether the caller would see a part as an answer.
func (p *Part) isContent() bool {
	return TextPart <= p.Kind && p.Kind <= ExtraPart || p.Kind == ClosePart && len(p.Text) > 0
}

// Said returns the text of a part, and the thoughts among it: some models answer in a list of both.
func (p *Part) Said() (text, thought string) {
	if len(p.Text) == 0 || p.Text[0] != '[' {
		return p.String(), ""
	}
	for piece := range Elements(p.Text) {
		text += TextOf(Member(piece, "text"))
		for t := range Elements(Member(piece, "thinking")) {
			thought += TextOf(Member(t, "text"))
		}
	}
	return text, thought
}

// Usage is what an answer has cost, as far as a frame says.
type Usage struct {
	Input      int // with what the cache has
	CacheRead  int // of it, from the cache
	CacheWrite int // of it, to the cache

	Output    int
	Thoughts  int  // of the output
	Reasoning int  // where it is not among the output
	Total     int  // with the request
	Stated    bool // the output is stated
	Unread    bool // the input is stated, and is 0
}

// Parts are what a frame says, in its order. A frame of a stream has one or two, so that no room is allocated for them.
type Parts struct {
	ID         []byte // of the answer
	Model      []byte // that answers
	Failure    []byte // an error as an event, where the answer has ended with one that the API states as a reason to stop
	Usage      Usage
	Choices    int  // answers that the frame is about
	Signed     bool // reasoning is refused by the API, when a client returns it, without its signature
	Unfollowed bool // the answer cannot be completed
	Checkpoint bool // the answer can be resumed behind it

	n     int
	first [4]Part
	rest  []Part
}

// Add adds a part.
func (ps *Parts) Add(p Part) {
	if ps.n < len(ps.first) {
		ps.first[ps.n] = p
	} else {
		ps.rest = append(ps.rest, p)
	}
	ps.n++
}

// Len returns how many there are.
func (ps *Parts) Len() int { return ps.n }

// At returns one of them.
func (ps *Parts) At(i int) *Part {
	if i < len(ps.first) {
		return &ps.first[i]
	}
	return &ps.rest[i-len(ps.first)]
}

// AddText adds a part with a text, unless it is empty.
func (ps *Parts) AddText(kind PartKind, block int, text []byte) {
	if !IsEmpty(text) {
		ps.Add(Part{Kind: kind, Block: block, Text: text})
	}
}

// fails reports whether an error is among the parts, or an end that names a fault. A prompt that was blocked is refused.
func (ps *Parts) fails() bool {
	ends := ps.Failure != nil
	for i := range ps.n {
		p := ps.At(i)
		if p.Kind == ErrorPart {
			return true
		}
		ends = ends && p.Why != RefusedStop
	}
	return ends
}

// frameKind returns what the frame means.
func (ps *Parts) frameKind() (kind FrameKind) {
	if ps.fails() {
		return Failure
	}
	ends := false
	for i := range ps.n {
		switch p := ps.At(i); {
		case p.Kind == EndPart:
			ends = true
		case p.Final:
			kind = max(kind, Finish)
		case p.isContent(), p.Kind == StopPart, p.Kind == UsagePart:
			kind = max(kind, Content)
		}
	}
	switch {
	case ends && kind == Opening:
		return End
	case ends:
		return Last
	}
	return kind
}

// refusal returns the provider's word for why an answer without content was refused; "": it was not.
func (ps *Parts) refusal() (reason string) {
	stops := 0
	for i := range ps.n {
		switch p := ps.At(i); {
		case p.isContent(), p.Kind == StopPart && p.Why != RefusedStop:
			return ""
		case p.Kind == StopPart:
			stops++
			reason = strings.Trim(string(p.Name), `"`)
		}
	}
	if stops < ps.Choices {
		return ""
	}
	return reason
}

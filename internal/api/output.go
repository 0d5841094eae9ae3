package api

import "slices"

// Output is what an answer is at its end.
type Output uint8

// The outputs.
const (
	SomeOutput Output = iota // an answer: it has a text or a call, or says why it has neither
	NoOutput                 // none: neither, and nothing explains it
	NoInput                  // none, and its usage says that not even the request was read
)

// Tally follows an answer by its frames, or a whole one, and finds out if it is one. A filter, a limit, an unknown reason
// and a signed thought explain an answer without a text and without a call; readable thoughts do if there are tokens for
// them. The zero Tally has seen nothing.
type Tally struct {
	said      bool // a text, a call or anything else that is the answer
	thought   bool // readable thoughts
	explained bool // the reason to stop says why there is no more
	stopped   bool // a reason to stop, or the usage
	read      bool // the usage has tokens of the request
	unread    bool // or says that there are none
	tokens    int
	stated    bool // the tokens
}

// callStops are the reasons to stop that speak of a tool call.
var callStops = []string{`"tool_calls"`, `"function_call"`, `"tool_use"`, `"TOOL_CALL"`}

// Add adds a frame of an answer, or a whole one.
func (t *Tally) Add(a *API, f Form, frame []byte) {
	if !t.said {
		parts := a.Decode(f, frame)
		t.AddParts(a, f, frame, &parts)
	}
}

// AddParts adds a frame of which has been read what it says.
func (t *Tally) AddParts(a *API, f Form, frame []byte, parts *Parts) {
	if t.said {
		return
	}
	for i := range parts.n {
		p := parts.At(i)
		if p.Kind != ClosePart || len(p.Text) == 0 {
			t.addPart(p)
			t.said = t.said || f == JSON && !IsEmpty(frame) && (p.Kind == BesidePart || p.Kind == PingPart) // its form is not known
			continue
		}
		whole := a.Whole(p)
		t.said = t.said || whole.n == 0
		for j := range whole.n {
			t.addPart(whole.At(j))
		}
	}
	u := &parts.Usage
	t.tokens = max(t.tokens, u.Output+u.Reasoning)
	t.stated, t.stopped = t.stated || u.Stated, t.stopped || u.Stated
	t.read, t.unread = t.read || u.Input > 0, t.unread || u.Unread
}

// addPart adds a part that repeats no others.
func (t *Tally) addPart(p *Part) {
	switch {
	case p.Kind == TextPart:
		t.said = t.said || !IsEmpty(p.Text)
	case p.Kind == ReasoningPart:
		t.thought = true
	case p.isContent(), p.Kind == LogprobsPart:
		t.said = true
	case p.Kind == StopPart:
		t.stopped = true
		t.explained = t.explained || p.Why != PlainStop && !slices.Contains(callStops, string(p.Name))
	case p.Kind == UsagePart:
		t.stopped = t.stopped || p.Final
	}
}

// Begun reports whether a client would see something of the answer, or has no more to expect of it.
func (t *Tally) Begun() bool { return t.said || t.thought || t.explained }

// OnlyThinks reports whether the answer has thoughts, and nothing else so far.
func (t *Tally) OnlyThinks() bool { return t.thought && !t.said }

// Stopped reports whether the answer has said that it stops.
func (t *Tally) Stopped() bool { return t.stopped }

// Output returns what the answer is if this is its end.
func (t *Tally) Output() Output {
	switch {
	case t.said, t.explained, t.thought && !(t.stated && t.tokens == 0):
		return SomeOutput
	case t.unread && !t.read:
		return NoInput
	}
	return NoOutput
}

// Refusal returns the provider's word for it, if a frame before any content, or a whole body, says that the
// model or a filter refuses to answer; "": it does not. An answer that explains its refusal has content.
func (a *API) Refusal(f Form, frame []byte) string {
	parts := a.Decode(f, frame)
	return parts.refusal()
}

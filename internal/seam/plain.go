package seam

// Text continues an answer that is text alone, for a program that has no frames but the model's words.
type Text struct {
	finder finder
	found  bool
}

// NewText returns the Text for what was shown. It returns a [Refusal] if its end does not identify it.
func NewText(shown string) (*Text, error) {
	f, err := newFinder(shown, false, false)
	if err != nil {
		return nil, err
	}
	return &Text{finder: f}, nil
}

// Ask returns what the user asks in the second request, behind a turn of the model's with the text that was
// shown.
func (t *Text) Ask() string { return request(t.finder.anchor) }

// Add takes text of the second answer and returns what of it is shown, or [ErrNoSeam].
func (t *Text) Add(part string) (shown string, err error) {
	if t.found || part == "" {
		return part, nil
	}
	rest, v := t.finder.add(part)
	if v == lost {
		return "", ErrNoSeam
	}
	t.found = v == found
	return rest, nil
}

// End ends the second answer's text and returns what was withheld of it, or [ErrNoSeam]. calls says that a
// tool call follows.
func (t *Text) End(calls bool) (shown string, err error) {
	if t.found {
		return "", nil
	}
	rest, v := t.finder.end(calls)
	if v != found {
		return "", ErrNoSeam
	}
	t.found = true
	return rest, nil
}

// Found reports whether the seam was found.
func (t *Text) Found() bool { return t.found }

// Tokens estimates the number of tokens of a text, rather too high than too low.
func Tokens(text string) int { return tokens(text) }

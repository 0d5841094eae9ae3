package api

// Rest continues an answer that is text alone, for a program that has no frames but the model's words.
type Rest struct {
	finder finder
	found  bool
}

// NewRest returns the Rest for what was shown. It returns an [Obstacle] if its end does not identify it.
func NewRest(shown string) (*Rest, error) {
	f, err := newFinder(shown, false, false)
	if err != nil {
		return nil, err
	}
	return &Rest{finder: f}, nil
}

// Ask returns what the user asks in the second request, behind a turn of the model's with the text that was
// shown.
func (t *Rest) Ask() string { return askFor(t.finder.anchor) }

// Add takes text of the second answer and returns what of it is shown, or [ErrNoSeam].
func (t *Rest) Add(part string) (shown string, err error) {
	if t.found || part == "" {
		return part, nil
	}
	rest, v := t.finder.add(part)
	if v == seamLost {
		return "", ErrNoSeam
	}
	t.found = v == seamFound
	return rest, nil
}

// End ends the second answer's text and returns what was withheld of it, or [ErrNoSeam]. calls says that a
// tool call follows.
func (t *Rest) End(calls bool) (shown string, err error) {
	if t.found {
		return "", nil
	}
	rest, v := t.finder.end(calls)
	if v != seamFound {
		return "", ErrNoSeam
	}
	t.found = true
	return rest, nil
}

// Found reports whether the seam was found.
func (t *Rest) Found() bool { return t.found }

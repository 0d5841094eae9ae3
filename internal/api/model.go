package api

// maxModelMembers is how many members named model a body may have. More than one is a mistake already, and
// servers differ in the one that they take.
const maxModelMembers = 8

// Span is a part of a text: from the byte Begin up to the one before End.
type Span struct{ Begin, End int }

// Len returns the number of its bytes.
func (s Span) Len() int { return s.End - s.Begin }

// ModelInPath returns where a request's path names the model; an empty Span: it does not.
func (a *API) ModelInPath(path string) Span {
	if a.is.ModelInPath == nil {
		return Span{}
	}
	return a.is.ModelInPath(path)
}

// ModelScanner finds where a request's body names the model: every top-level member of that name, however
// its name is escaped. It takes the body in parts. The zero ModelScanner is ready.
type ModelScanner struct {
	members  RequestScanner
	at       int // of the next byte
	begin    int // of the value that is being read
	open     int // behind the bracket that opens the object; 0: it is none
	hasNames bool
	spans    []Span
}

// Scan reads the next part of the body. It reports whether the rest is of no use.
func (m *ModelScanner) Scan(part []byte) (done bool) {
	s := &m.members
	for len(part) > 0 && s.step != ended {
		step, wanted := s.step, s.wanted
		s.found = 0 // or the scanner would stop at the first pair
		rest := s.scanStep(part)
		m.at += len(part) - len(rest)
		part = rest
		switch {
		case step == beforeObject && s.step == beforeKey:
			m.open = m.at
		case s.step == inKey:
			m.hasNames = true
		case wanted != modelMember:
		case step == beforeValue && s.step == inString:
			m.begin = m.at - len(`"`)
		case step == beforeValue && s.step != beforeValue:
			m.begin = m.at
		case s.step == afterValue || s.step == ended:
			m.spans = append(m.spans, Span{m.begin, m.at})
		}
		if len(m.spans) > maxModelMembers {
			s.step = ended
		}
	}
	return s.step == ended
}

// Replace returns the places in the body that a text replaces so that it names another model: those of the
// values, or one where a member is added. false: the body is no JSON object, or names too many models.
func (m *ModelScanner) Replace(model string) (at []Span, text []byte, ok bool) {
	text = Quote(model)
	switch {
	case m.open == 0 || len(m.spans) > maxModelMembers:
		return nil, nil, false
	case len(m.spans) > 0:
		return m.spans, text, true
	}
	text = append([]byte(`"model":`), text...)
	if m.hasNames {
		text = append(text, ',')
	}
	return []Span{{m.open, m.open}}, text, true
}

// Names reports whether the body names a model.
func (m *ModelScanner) Names() bool { return len(m.spans) > 0 }

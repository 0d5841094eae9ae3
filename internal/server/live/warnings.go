package live

// warning is a sentence for the operator, as JSON.
type warning struct {
	Text string `json:"text"`
}

// key returns the text.
func (w *warning) key() key { return key{text: w.Text} }

// same reports whether nothing has changed.
func (w *warning) same(other item) bool { return *w == *other.(*warning) }

// loadWarnings returns what needs attention, each sentence once.
func (l *Live) loadWarnings() []warning {
	all, seen := []warning{}, map[string]bool{}
	if l.Warnings == nil {
		return all
	}
	for _, text := range l.Warnings() {
		if !seen[text] {
			seen[text] = true
			all = append(all, warning{text})
		}
	}
	return all
}

package tui

import "slices"

// emphasize pairs the delimiters by the rules of CommonMark and removes the pairs. The others stay as text.
func (p *inlineParser) emphasize() {
	var open []int
	for i, s := range p.spans {
		if s.mark == 0 {
			continue
		}
		if s.closes {
			open = p.closeDelimiter(open, i)
		}
		if s.opens && p.spans[i].text != "" {
			open = append(open, i)
		}
	}
}

// closeDelimiter closes what the delimiter at index at can close, and returns what is still open.
func (p *inlineParser) closeDelimiter(open []int, at int) []int {
	closer := &p.spans[at]
	for closer.text != "" {
		i := len(open) - 1
		for i >= 0 && !p.spans[open[i]].matches(*closer) {
			i--
		}
		if i < 0 {
			break
		}
		opener := &p.spans[open[i]]
		n := min(2, len(opener.text), len(closer.text))
		for j := range p.spans[open[i]+1 : at] {
			p.spans[open[i]+1+j].style |= closer.delimiterStyle(n)
		}
		opener.text, closer.text = opener.text[n:], closer.text[n:]
		open = slices.Delete(open, i+1, len(open))
		if opener.text == "" {
			open = open[:i]
		}
	}
	return open
}

// delimiterStyle is the style of the text between n delimiters.
func (s span) delimiterStyle(n int) style {
	switch {
	case s.mark == '~':
		return strikethrough
	case n == 2:
		return bold
	}
	return italic
}

// matches reports whether closer closes what p opens.
func (s span) matches(closer span) bool {
	switch {
	case s.mark != closer.mark:
		return false
	case s.mark == '~':
		return s.size == closer.size
	case !s.closes && !closer.opens:
		return true
	}
	return (s.size+closer.size)%3 != 0 || s.size%3 == 0 && closer.size%3 == 0
}

package tui

import "slices"

// emphasize finds which marks belong together, as CommonMark has it, and takes
// them away. The others are text.
func (s *spans) emphasize() {
	var open []int
	for i, p := range s.pieces {
		if p.mark == 0 {
			continue
		}
		if p.closes {
			open = s.close(open, i)
		}
		if p.opens && s.pieces[i].text != "" {
			open = append(open, i)
		}
	}
}

// close closes what a mark can close of what is open, and gives what then is
// still open.
func (s *spans) close(open []int, at int) []int {
	closer := &s.pieces[at]
	for closer.text != "" {
		i := len(open) - 1
		for i >= 0 && !s.pieces[open[i]].pairs(*closer) {
			i--
		}
		if i < 0 {
			break
		}
		opener := &s.pieces[open[i]]
		n := min(2, len(opener.text), len(closer.text))
		for j := range s.pieces[open[i]+1 : at] {
			s.pieces[open[i]+1+j].look |= closer.means(n)
		}
		opener.text, closer.text = opener.text[n:], closer.text[n:]
		open = slices.Delete(open, i+1, len(open))
		if opener.text == "" {
			open = open[:i]
		}
	}
	return open
}

// means gives what so many marks make of what is between them.
func (p piece) means(n int) looks {
	switch {
	case p.mark == '~':
		return struck
	case n == 2:
		return bold
	}
	return slanted
}

// pairs tells whether what a mark opens is closed by another.
func (p piece) pairs(closer piece) bool {
	switch {
	case p.mark != closer.mark:
		return false
	case p.mark == '~':
		return p.size == closer.size
	case !p.closes && !closer.opens:
		return true
	}
	return (p.size+closer.size)%3 != 0 || p.size%3 == 0 && closer.size%3 == 0
}

package tui

import "strings"

// Bounds of what is rendered again with every word, in bytes and in lines of
// code. What is longer is taken as finished so far.
const (
	tailBound = 4 << 10
	codeBound = 40
)

// block is a piece of Markdown that will not change any more.
type block struct {
	text  string
	glued bool // it goes on with what was before: no blank line stands between them
}

// stream is an answer as it comes. Of it only the last block is open, so that
// what a word more costs does not grow with what has been said before.
type stream struct {
	said strings.Builder // all of it
	tail string          // what is not finished
	cont bool            // the tail goes on with a block that was too long
}

// add takes some more and gives the blocks that are finished by it.
func (s *stream) add(text string) (done []block) {
	s.said.WriteString(text)
	s.tail += text
	for {
		head, rest, glue := cutBlock(s.tail)
		if head == "" {
			return done
		}
		done = append(done, block{head, s.cont})
		s.tail, s.cont = rest, glue
	}
}

// amend takes in the whole of the answer, of which some may have been missed as
// it came. Where that is not printed yet it is put right unseen; else missed is
// true, and the answer goes on from the line in which something is missing.
func (s *stream) amend(whole string) (done []block, missed bool) {
	said := s.said.String()
	if rest, ok := strings.CutPrefix(whole, said); ok {
		return s.add(rest), false
	}
	if printed, ok := strings.CutSuffix(said, s.tail); ok && strings.HasPrefix(whole, printed) {
		cont := s.cont
		s.reset()
		s.said.WriteString(printed)
		s.cont = cont
		return s.add(whole[len(printed):]), false
	}
	from := strings.LastIndexByte(whole[:alike(whole, said)], '\n') + 1
	s.reset()
	if fence, first := openFence(whole[:from]); fence != "" {
		return s.add(first + "\n" + whole[from:]), true
	}
	return s.add(whole[from:]), true
}

// alike gives how many bytes two texts begin with alike.
func alike(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// openFence gives the fence of the code that is open at the end of a text, and
// the line with which it began; "": none is.
func openFence(text string) (fence, first string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if after := fenceAfter(fence, line); after != fence {
			fence, first = after, line
		}
	}
	return fence, first
}

// end gives what is left.
func (s *stream) end() []block {
	defer s.reset()
	if strings.TrimSpace(s.tail) == "" {
		return nil
	}
	return []block{{s.tail, s.cont}}
}

func (s *stream) reset() {
	s.said.Reset()
	s.tail, s.cont = "", false
}

// cutBlock gives the first block of a text if it is finished, and the rest;
// glue: the rest goes on with that block. head "": it is not finished.
func cutBlock(text string) (head, rest string, glue bool) {
	fence, first, at, lines := "", "", 0, 0
	empty := false // the line before is blank, outside of code
	for at < len(text) {
		line, _, whole := strings.Cut(text[at:], "\n")
		if empty && line != "" && line[0] != ' ' && line[0] != '\t' {
			return text[:at], text[at:], false
		}
		if !whole {
			break
		}
		before := fence
		fence = fenceAfter(fence, line)
		if before == "" && fence != "" {
			first, lines = line, 0
		}
		at += len(line) + 1
		lines++
		empty = fence == "" && strings.TrimSpace(line) == "" && strings.TrimSpace(text[:at]) != ""
		if fence != "" && lines > codeBound { // the fence is closed here and opened again
			return text[:at] + fence + "\n", first + "\n" + text[at:], true
		}
	}
	if len(text) <= tailBound {
		return "", "", false
	}
	return cutLong(text)
}

// cutLong cuts a block that is too long: at the end of a line, or of a word.
func cutLong(text string) (head, rest string, glue bool) {
	end := strings.LastIndexAny(text[:tailBound], "\n") + 1
	if end == 0 {
		end = strings.LastIndexAny(text[:tailBound], " ") + 1
	}
	if end == 0 {
		for end = tailBound; text[end]&0xc0 == 0x80; { // not in the middle of a letter
			end--
		}
	}
	head, rest = text[:end], text[end:]
	fence, first := openFence(head)
	if fence == "" {
		return head, rest, true
	}
	return strings.TrimSuffix(head, "\n") + "\n" + fence + "\n", first + "\n" + rest, true
}

// fenceAfter gives the fence of the code block that is open behind a line; "":
// none is.
func fenceAfter(open, line string) string {
	mark := fenceOf(line)
	switch {
	case open == "" && mark != "" && !strings.Contains(strings.TrimLeft(line, " ")[len(mark):], "`"):
		return mark
	case open != "" && mark != "" && mark[0] == open[0] && len(mark) >= len(open) && strings.TrimSpace(line) == mark:
		return ""
	}
	return open
}

// fenceOf gives the run of three or more backticks or tildes with which a line
// begins; "": it does not.
func fenceOf(line string) string {
	body := strings.TrimLeft(line, " ")
	if len(line)-len(body) > 3 || body == "" || body[0] != '`' && body[0] != '~' {
		return ""
	}
	run := len(body) - len(strings.TrimLeft(body, body[:1]))
	if run < 3 {
		return ""
	}
	return body[:run]
}

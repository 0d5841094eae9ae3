package tui

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what is rendered again with every word, in bytes and in lines of
// code. What is longer is taken as finished so far.
const (
	tailBound  = 4 << 10
	codeBound  = 40
	againBound = tailBound / 4 // of what is said again where a piece goes on
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
	_, again := cutFrom(whole[:from], whole[from:])
	return s.add(again + whole[from:]), true
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
// glue: the rest goes on with that block. head "": it is not finished. It does
// not look beyond the bound, so that the blocks do not depend on the pieces in
// which the text has come.
func cutBlock(text string) (head, rest string, glue bool) {
	seen := text[:min(len(text), tailBound+1)]
	fence, first, at, lines := "", "", 0, 0
	empty := false // the line before is blank, outside of code
	for at < len(seen) {
		line, _, whole := strings.Cut(seen[at:], "\n")
		if empty && line != "" && line[0] != ' ' && line[0] != '\t' {
			return text[:at], text[at:], false
		}
		if !whole {
			break
		}
		before := fence
		fence = fenceAfter(fence, line)
		if before == "" && fence != "" {
			first, lines = fenceLine(line, fence), 0
		}
		at += len(line) + 1
		lines++
		empty = fence == "" && strings.TrimSpace(line) == "" && strings.TrimSpace(seen[:at]) != ""
		if fence != "" && lines > codeBound { // the fence is closed here and opened again
			return text[:at] + fence + "\n", first + text[at:], true
		}
	}
	if len(text) <= tailBound {
		return "", "", false
	}
	return cutLong(text)
}

// cutLong cuts a block that is too long: at the end of a line, best before one
// that is not indented, or else of a word.
func cutLong(text string) (head, rest string, glue bool) {
	end := 0
	for at := tailBound / 2; at < tailBound; at++ {
		if text[at-1] == '\n' && (end == 0 || text[at] != ' ' && text[at] != '\t') {
			end = at
		}
	}
	if end == 0 {
		end = tailBound/2 + strings.LastIndexByte(text[tailBound/2:tailBound], ' ') + 1
	}
	if end == tailBound/2 { // not in the middle of a letter, if it is one
		for end = tailBound; text[end]&0xc0 == 0x80 && end > tailBound-utf8.UTFMax; {
			end--
		}
	}
	head, rest = text[:end], text[end:]
	below, again := cutFrom(head, rest)
	if below != "" {
		head = strings.TrimSuffix(head, "\n") + "\n" + below
	}
	return head, again + rest, true
}

// cutFrom gives what ends a piece that is cut off, and what is said again where
// it goes on: the fence of code that is open, or the head of a table.
func cutFrom(head, rest string) (below, again string) {
	fence, first, table, last := "", "", "", ""
	for line := range strings.Lines(head) {
		after := fenceAfter(fence, strings.TrimSuffix(line, "\n"))
		switch {
		case after != "" && fence == "":
			first = fenceLine(line, after)
		case !strings.Contains(line, "|"):
			table = ""
		case table == "" && isTable([]string{last, line, ""}):
			table = last + line
		}
		fence, last = after, line
	}
	switch {
	case fence != "":
		return fence + "\n", first
	case strings.HasSuffix(last, "\n") && !strings.HasPrefix(rest, "\n") && len(table) < againBound && !strings.HasSuffix(head, table):
		return "", table
	}
	return "", ""
}

// fenceLine gives the line that opens a fence again, as far to the right.
func fenceLine(line, fence string) string {
	line = strings.TrimRight(unlisted(untabbed(line)), " \r\n")
	if len(line) > againBound/2 {
		line = strings.Repeat(" ", min(againBound/4, indentOf(line))) + fence
	}
	return line + "\n"
}

// fenceAfter gives the fence of the code block that is open behind a line; "":
// none is.
func fenceAfter(open, line string) string {
	if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
		return open
	}
	if open == "" {
		line = unlisted(line)
	}
	mark := fenceOf(line)
	switch {
	case open == "" && mark != "" && !strings.Contains(strings.TrimLeft(line, " \t")[len(mark):], "`"):
		return mark
	case open != "" && mark != "" && mark[0] == open[0] && len(mark) >= len(open) && strings.TrimSpace(line) == mark:
		return ""
	}
	return open
}

// fenceOf gives the run of three or more backticks or tildes with which a line
// begins; "": it does not. It may be indented as far as a list does.
func fenceOf(line string) string {
	body := strings.TrimLeft(line, " \t")
	if body == "" || body[0] != '`' && body[0] != '~' {
		return ""
	}
	run := len(body) - len(strings.TrimLeft(body, body[:1]))
	if run < 3 || run > againBound/4 {
		return ""
	}
	return body[:run]
}

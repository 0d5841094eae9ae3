package tui

import (
	"strings"
	"unicode/utf8"
)

// Bounds of the text that is rendered again with every word, in bytes and in lines of code. Longer text counts as
// finished.
const (
	maxTail      = 4 << 10
	maxCodeLines = 40
	maxRepeat    = maxTail / 4 // of the text repeated where a cut block continues
)

// block is a piece of Markdown that will not change any more.
type block struct {
	text      string
	continues bool // it continues the block before, without a blank line between them
}

// stream is an answer that is streaming. Only its last block is open, so that the cost of a word does not grow with
// the answer.
type stream struct {
	received      strings.Builder // the whole text
	tail          string          // the unfinished end
	tailContinues bool            // the tail continues a block that was too long
}

// add appends text and returns the blocks that it finishes.
func (s *stream) add(text string) (done []block) {
	s.received.WriteString(text)
	s.tail += text
	for {
		head, rest, glue := cutBlock(s.tail)
		if head == "" {
			return done
		}
		done = append(done, block{head, s.tailContinues})
		s.tail, s.tailContinues = rest, glue
	}
}

// reconcile takes in the whole answer, parts of which may have been missed. It silently corrects what is not
// printed yet; otherwise missed is true and the answer continues from the line in which a part is missing.
func (s *stream) reconcile(whole string) (done []block, missed bool) {
	said := s.received.String()
	if rest, ok := strings.CutPrefix(whole, said); ok {
		return s.add(rest), false
	}
	if printed, ok := strings.CutSuffix(said, s.tail); ok && strings.HasPrefix(whole, printed) {
		cont := s.tailContinues
		s.reset()
		s.received.WriteString(printed)
		s.tailContinues = cont
		return s.add(whole[len(printed):]), false
	}
	from := strings.LastIndexByte(whole[:commonPrefix(whole, said)], '\n') + 1
	s.reset()
	_, again := cutRepair(whole[:from], whole[from:])
	return s.add(again + whole[from:]), true
}

func commonPrefix(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func (s *stream) finish() []block {
	defer s.reset()
	if strings.TrimSpace(s.tail) == "" {
		return nil
	}
	return []block{{s.tail, s.tailContinues}}
}

func (s *stream) reset() {
	s.received.Reset()
	s.tail, s.tailContinues = "", false
}

// cutBlock cuts off the first block of a text; head is "" while it is unfinished. glue reports whether the rest
// continues that block. It does not look beyond the bound, so that the blocks do not depend on the chunks of the
// stream.
func cutBlock(text string) (head, rest string, glue bool) {
	seen := text[:min(len(text), maxTail+1)]
	fence, first, at, lines := "", "", 0, 0
	empty := false // the line before is blank and not code
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
		if fence != "" && lines > maxCodeLines { // the fence is closed here and opened again
			return text[:at] + fence + "\n", first + text[at:], true
		}
	}
	if len(text) <= maxTail {
		return "", "", false
	}
	return cutLong(text)
}

// cutLong cuts a block that is too long: at the end of a line, preferably before one that is not indented, or else
// at a word.
func cutLong(text string) (head, rest string, glue bool) {
	end := 0
	for at := maxTail / 2; at < maxTail; at++ {
		if text[at-1] == '\n' && (end == 0 || text[at] != ' ' && text[at] != '\t') {
			end = at
		}
	}
	if end == 0 {
		end = maxTail/2 + strings.LastIndexByte(text[maxTail/2:maxTail], ' ') + 1
	}
	if end == maxTail/2 { // not within a character
		for end = maxTail; text[end]&0xc0 == 0x80 && end > maxTail-utf8.UTFMax; {
			end--
		}
	}
	head, rest = text[:end], text[end:]
	below, again := cutRepair(head, rest)
	if below != "" {
		head = strings.TrimSuffix(head, "\n") + "\n" + below
	}
	return head, again + rest, true
}

// cutRepair returns the text that completes a cut head, and the text to repeat before the rest: the open code
// fence, or the head of a table.
func cutRepair(head, rest string) (below, again string) {
	fence, first, table, last := "", "", "", ""
	for line := range strings.Lines(head) {
		after := fenceAfter(fence, strings.TrimSuffix(line, "\n"))
		switch {
		case after != "" && fence == "":
			first = fenceLine(line, after)
		case !strings.Contains(line, "|"):
			table = ""
		case table == "" && strings.Contains(last, "|") && strings.Contains(line, "-") && strings.Trim(line, "|:- \r\n") == "":
			table = last + line
		}
		fence, last = after, line
	}
	switch {
	case fence != "":
		return fence + "\n", first
	case strings.HasSuffix(last, "\n") && !strings.HasPrefix(rest, "\n") && len(table) < maxRepeat && !strings.HasSuffix(head, table):
		return "", table
	}
	return "", ""
}

// fenceLine returns the line that reopens a fence with the same indentation.
func fenceLine(line, fence string) string {
	line = expandTabs(strings.TrimRight(line, " \r\n"))
	indent := strings.Repeat(" ", min(maxRepeat/4, len(line)-len(behindMarks(line))))
	if line = behindMarks(line); len(line) > maxRepeat/2 {
		line = fence
	}
	return indent + line + "\n"
}

// behindMarks returns the rest of a line after indentation and the marks of list items.
func behindMarks(line string) string { return strings.TrimLeft(line, " \t-*+.)0123456789") }

// fenceAfter returns the fence of the code block that is open after a line, or "".
func fenceAfter(open, line string) string {
	if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
		return open
	}
	if open == "" {
		line = behindMarks(line)
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

// fenceOf returns the run of three or more backticks or tildes that a line starts with, or "". It may be indented
// as far as a list.
func fenceOf(line string) string {
	body := strings.TrimLeft(line, " \t")
	if body == "" || body[0] != '`' && body[0] != '~' {
		return ""
	}
	run := len(body) - len(strings.TrimLeft(body, body[:1]))
	if run < 3 || run > maxRepeat/4 {
		return ""
	}
	return body[:run]
}

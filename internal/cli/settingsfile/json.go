package settingsfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// objects edits JSON, with comments and commas at the end where there are some. What is not edited stays as it is.
type objects struct{}

// errDamaged is the error about a text that is not JSON with comments.
var errDamaged = errors.New("it is not JSON")

// space returns the end of white space and comments from a place on.
func space(s string, at int) int {
	for at < len(s) {
		switch {
		case strings.ContainsRune(" \t\r\n", rune(s[at])):
			at++
		case strings.HasPrefix(s[at:], "//"):
			at += upTo(s[at:], "\n")
		case strings.HasPrefix(s[at:], "/*"):
			at += upTo(s[at:], "*/")
		default:
			return at
		}
	}
	return at
}

// upTo returns the length of a text up to and with an end.
func upTo(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// skip returns the end of the value that begins at a place.
func skip(s string, at int) (int, error) {
	if at >= len(s) {
		return 0, errDamaged
	}
	switch s[at] {
	case '"':
		return skipString(s, at)
	case '{', '[':
		for depth := 0; at < len(s); {
			switch s[at] {
			case '"':
				end, err := skipString(s, at)
				if err != nil {
					return 0, err
				}
				at = end
				continue
			case '/':
				if next := space(s, at); next > at {
					at = next
					continue
				}
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1, nil
				}
			}
			at++
		}
		return 0, errDamaged
	}
	end := at
	for end < len(s) && !strings.ContainsRune(",]} \t\r\n/", rune(s[end])) {
		end++
	}
	if end == at {
		return 0, errDamaged
	}
	return end, nil
}

func skipString(s string, at int) (int, error) {
	for i := at + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1, nil
		}
	}
	return 0, errDamaged
}

// member is a member of an object: where its name begins, its value begins and ends, and the comma after it is; comma
// < 0: there is none.
type member struct {
	name              string
	begin, value, end int
	comma             int
}

// members returns the members of the object that begins at a place, and where its bracket closes.
func members(s string, at int) (all []member, closing int, err error) {
	if at >= len(s) || s[at] != '{' {
		return nil, 0, errors.New("it has something else where an object should be")
	}
	for at = space(s, at+1); at < len(s) && s[at] != '}'; at = space(s, at) {
		m := member{begin: at, comma: -1}
		if s[at] != '"' {
			return nil, 0, errDamaged
		}
		end, err := skipString(s, at)
		if err != nil || json.Unmarshal([]byte(s[at:end]), &m.name) != nil {
			return nil, 0, errDamaged
		}
		if at = space(s, end); at >= len(s) || s[at] != ':' {
			return nil, 0, errDamaged
		}
		m.value = space(s, at+1)
		if m.end, err = skip(s, m.value); err != nil {
			return nil, 0, err
		}
		if at = space(s, m.end); at < len(s) && s[at] == ',' {
			m.comma = at
			at++
		}
		all = append(all, m)
	}
	if at >= len(s) {
		return nil, 0, errDamaged
	}
	return all, at, nil
}

// found is the way to a setting: the objects that are there, and the member in the last of them.
type found struct {
	at      []int // where the objects begin, the outermost first
	member  member
	members []member // of the last object
	closing int      // of the last object
	there   bool
}

func find(s string, path []string) (f found, err error) {
	at := space(s, 0)
	for depth := range path {
		f.at = append(f.at, at)
		if f.members, f.closing, err = members(s, at); err != nil {
			return f, err
		}
		next := -1
		for _, m := range f.members {
			if m.name == path[depth] { // of several the last one counts
				f.member, next = m, m.value
			}
		}
		if next < 0 {
			return f, nil
		}
		at = next
	}
	f.there = true
	return f, nil
}

func (objects) get(text string, path []string) (raw string, there bool, err error) {
	if strings.TrimSpace(text) == "" {
		return "", false, nil
	}
	f, err := find(text, path)
	if err != nil || !f.there {
		return "", false, err
	}
	return text[f.member.value:f.member.end], true, nil
}

func (objects) raw(_ []string, value string) string {
	quoted, _ := json.Marshal(value) // of a string
	return string(quoted)
}

// set sets a member, in objects that are made where they are missing.
func (objects) set(text string, path []string, raw string) (string, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	f, err := find(text, path)
	if err != nil {
		return "", err
	}
	if f.there {
		return text[:f.member.value] + raw + text[f.member.end:], nil
	}
	depth := len(f.at)
	unit, newline := indent(text)
	inner := strings.Repeat(unit, depth)
	value := raw
	for i := len(path) - 1; i >= depth; i-- {
		in := newline + strings.Repeat(unit, i+1)
		value = "{" + in + quoteName(path[i]) + ": " + value + newline + strings.Repeat(unit, i) + "}"
	}
	line := quoteName(path[depth-1]) + ": " + value
	if len(f.members) == 0 {
		open := f.at[depth-1] + 1
		return text[:open] + newline + inner + line + newline + strings.Repeat(unit, depth-1) + strings.TrimLeft(text[open:], " \t\r\n"), nil
	}
	last := f.members[len(f.members)-1]
	if last.comma >= 0 {
		at := lineEnd(text, last.comma+1)
		return text[:at] + newline + inner + line + "," + text[at:], nil
	}
	at := lineEnd(text, last.end)
	return text[:last.end] + "," + text[last.end:at] + newline + inner + line + text[at:], nil
}

// lineEnd returns where the line of a place ends, if only white space and comments are up to there.
func lineEnd(text string, at int) int {
	end := at
	for end < len(text) && !strings.ContainsRune("\r\n", rune(text[end])) {
		switch {
		case text[end] == ' ' || text[end] == '\t':
			end++
		case strings.HasPrefix(text[end:], "//"):
			end += len(strings.TrimRight(text[end:end+upTo(text[end:], "\n")], "\r\n"))
		case strings.HasPrefix(text[end:], "/*") && !strings.Contains(text[end:end+upTo(text[end:], "*/")], "\n"):
			end += upTo(text[end:], "*/")
		default:
			return at
		}
	}
	return end
}

func quoteName(name string) string {
	quoted, _ := json.Marshal(name) // of a string
	return string(quoted)
}

// indent returns how a text indents, and ends lines.
func indent(text string) (unit, newline string) {
	newline = "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimLeft(line, " \t"); len(trimmed) < len(line) && strings.HasPrefix(trimmed, `"`) {
			return line[:len(line)-len(trimmed)], newline
		}
	}
	return "  ", newline
}

// remove removes a member, and as many objects around it as were made for it and are empty.
func (objects) remove(text string, path []string, made int) (string, error) {
	f, err := find(text, path)
	if err != nil || !f.there {
		return text, err
	}
	if len(f.members) == 1 && made > 0 && len(path) > 1 {
		return objects{}.remove(text, path[:len(path)-1], made-1)
	}
	i := 0
	for f.members[i].begin != f.member.begin {
		i++
	}
	m := f.members[i]
	begin := lineStart(text, m.begin)
	switch {
	case len(f.members) == 1:
		open := f.at[len(f.at)-1] + 1
		before, after := strings.TrimRight(text[open:m.begin], " \t\r\n"), strings.TrimLeft(text[max(m.end, m.comma+1):], " \t\r\n")
		if before != "" {
			_, newline := indent(text)
			before += newline
		}
		return text[:open] + before + after, nil
	case m.comma >= 0:
		return text[:begin] + strings.TrimPrefix(strings.TrimPrefix(text[m.comma+1:], "\r"), "\n"), nil
	default: // the last one, without a comma: that of the one before goes
		comma := f.members[i-1].comma
		between := strings.TrimSuffix(strings.TrimSuffix(text[comma+1:begin], "\n"), "\r")
		return text[:comma] + between + text[m.end:], nil
	}
}

// lineStart returns the beginning of the line of a place, if only white space is between them.
func lineStart(text string, at int) int {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	if strings.TrimSpace(text[start:at]) == "" {
		return start
	}
	return at
}

func (objects) value(raw string) string {
	var text string
	if json.Unmarshal([]byte(raw), &text) != nil {
		return fmt.Sprintf("(%d characters)", len(raw))
	}
	return text
}

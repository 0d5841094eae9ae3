package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// Error is one thing that is wrong, or questionable, in a file.
type Error struct {
	File         string
	Line, Column int    // from 1
	Message      string // what is wrong and what was wanted
	text         string // of the line, without what may be a credential
}

// Error returns the fault on one line: "config.yaml:3:5: …".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", filepath.Base(e.File), e.Line, e.Column, e.Message)
}

// Excerpt returns the fault with its whole path, and below it the line with a
// mark under the place.
func (e *Error) Excerpt() string {
	number := fmt.Sprintf("%5d", e.Line)
	blank := strings.Repeat(" ", len(number))
	return fmt.Sprintf("%s:%d:%d: %s\n%s | %s\n%s | %s^", e.File, e.Line, e.Column, e.Message,
		number, e.text, blank, strings.Repeat(" ", e.Column-1))
}

// Errors is all that is wrong in a file, in the order of its lines.
type Errors []*Error

// Error returns the first fault and the number of the others.
func (e Errors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", e[0], len(e)-1)
}

// Excerpts returns an error with the lines that it is about, if it has any.
func Excerpts(err error) string {
	all, ok := errors.AsType[Errors](err)
	if !ok {
		return err.Error()
	}
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = e.Excerpt()
	}
	return strings.Join(texts, "\n")
}

// pos is a place in the file; zero: none.
type pos struct{ line, column int }

// source is the text of a file.
type source struct {
	name  string
	lines []string
}

// longest is how many characters of a line are shown.
const longest = 120

// fault makes an error for a place. One that is not in the text becomes the
// nearest that is.
func (s source) fault(at pos, format string, args ...any) *Error {
	e := &Error{File: s.name, Line: min(max(at.line, 1), max(len(s.lines), 1)), Message: fault.Scrub(fmt.Sprintf(format, args...))}
	line := ""
	if e.Line <= len(s.lines) {
		line = s.lines[e.Line-1]
	}
	e.Column = min(max(at.column, 1), len([]rune(line))+1, longest)
	e.text = shown(line)
	return e
}

// credential is the value of a field whose name says that it is secret. A
// mapping is none: it says where the credential is.
var credential = regexp.MustCompile(`(?i)((?:key|token|secret|password|authorization)["']?[ \t]*:[ \t]*)[^\s{].*`)

// shown returns a line as it may be shown: without tabs, which move the mark, and
// without what may be a credential.
func shown(line string) string {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	line = fault.Scrub(credential.ReplaceAllString(line, "${1}***"))
	if runes := []rune(line); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return line
}

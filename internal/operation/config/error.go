package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/ridethrough/ridethrough/fault"
)

// Error is a mistake in a file, or a warning about it.
type Error struct {
	File         string
	Line, Column int    // from 1
	Message      string // what is wrong and what was expected
	text         string // of the line, without what may be a credential
}

// Error returns the position and the message on one line: "config.yaml:3:5: …".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", filepath.Base(e.File), e.Line, e.Column, e.Message)
}

// Excerpt returns the error with its full path, and below it the line of the file
// with a mark under the position.
func (e *Error) Excerpt() string {
	number := fmt.Sprintf("%5d", e.Line)
	blank := strings.Repeat(" ", len(number))
	return fmt.Sprintf("%s:%d:%d: %s\n%s | %s\n%s | %s^", e.File, e.Line, e.Column, e.Message,
		number, e.text, blank, strings.Repeat(" ", e.Column-1))
}

// Errors are all mistakes in a file, in the order of its lines.
type Errors []*Error

// Error returns the first error and the number of the others.
func (e Errors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", e[0], len(e)-1)
}

// Excerpts returns an error with excerpts of the file, if it is an [Errors].
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

// pos is a position in the file; zero: none.
type pos struct{ line, column int }

type source struct {
	name  string
	lines []string
}

// An excerpt shows at most maxColumns characters of a line. maxLine bytes are searched for credentials, which end
// before that.
const maxColumns, maxLine = 120, 16 << 10

// fault returns an error for a position, which is clamped to the text.
func (s source) fault(at pos, format string, args ...any) *Error {
	e := &Error{File: s.name, Line: min(max(at.line, 1), max(len(s.lines), 1)), Message: fault.Scrub(fmt.Sprintf(format, args...))}
	line := ""
	if e.Line <= len(s.lines) {
		line = s.lines[e.Line-1]
		line = line[:min(len(line), maxLine)]
	}
	e.Column = min(max(at.column, 1), len([]rune(line))+1, maxColumns)
	e.text = redactLine(line)
	return e
}

// credential matches the value of a field named like a secret. It does not match mappings, which only say where the
// secret is.
var credential = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)((?:key|token|secret|password|authorization)["']?[ \t]*:[ \t]*)[^\s{].*`)
})

// redactLine returns a line without tabs, which would shift the mark, and without possible credentials.
func redactLine(line string) string {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	line = fault.Scrub(credential().ReplaceAllString(line, "${1}***"))
	if runes := []rune(line); len(runes) > maxColumns {
		return string(runes[:maxColumns]) + "…"
	}
	return line
}

// Package settingsfile sets single settings in the files of other programs and takes them back. Comments, order and
// everything else in the file stay as they are.
package settingsfile

import (
	"fmt"
	"slices"
	"strings"
)

// Format is a format of files.
type Format string

// The formats.
const (
	JSON      Format = "json" // with comments
	TOML      Format = "toml" // above the first table
	YAML      Format = "yaml" // at the top level
	Variables Format = "env"  // NAME=value
)

// Setting is a setting with the value that it should have.
type Setting struct {
	Path  []string // the names of the objects around it, and its own
	Value string
}

// Change is what was done to a setting.
type Change struct {
	Path []string `json:"path"`
	Had  bool     `json:"had"`  // there was one
	Old  string   `json:"old"`  // as the file had it
	New  string   `json:"new"`  // as the file has it
	Made int      `json:"made"` // the objects that were made around it
}

// Name returns the name of the setting with its objects.
func (c Change) Name() string { return strings.Join(c.Path, ".") }

// editor edits texts of a format. A raw value is as the text has it: of lines, the whole line.
type editor interface {
	get(text string, path []string) (raw string, there bool, err error)
	set(text string, path []string, raw string) (string, error)
	remove(text string, path []string, made int) (string, error)
	raw(path []string, value string) string
	value(raw string) string
}

func (f Format) editor() editor {
	switch f {
	case JSON:
		return objects{}
	case TOML:
		return lines{assign: " = ", table: "[", quote: true}
	case YAML:
		return lines{assign: ": ", quote: true}
	default:
		return lines{assign: "=", prefix: `(?:export[ \t]+)?`}
	}
}

// Value returns a raw value for people.
func (f Format) Value(raw string) string { return f.editor().value(raw) }

// Apply sets settings in a text. What has its value already is no change.
func (f Format) Apply(text string, all []Setting) (after string, changes []Change, err error) {
	e := f.editor()
	for _, s := range all {
		old, had, err := e.get(text, s.Path)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", strings.Join(s.Path, "."), err)
		}
		if had && e.value(old) == s.Value {
			continue
		}
		c := Change{Path: s.Path, Had: had, Old: old, New: e.raw(s.Path, s.Value)}
		if !had && f == JSON {
			c.Made = missing(text, s.Path)
		}
		if text, err = e.set(text, s.Path, c.New); err != nil {
			return "", nil, fmt.Errorf("%s: %w", c.Name(), err)
		}
		changes = append(changes, c)
	}
	return text, changes, nil
}

// missing returns how many of the objects around a setting are missing.
func missing(text string, path []string) int {
	f, err := find(text, path)
	if err != nil {
		return len(path) - 1
	}
	return len(path) - len(f.at)
}

// Revert takes changes back. Those whose setting has another value by now are kept.
func (f Format) Revert(text string, changes []Change) (after string, kept []Change, err error) {
	e := f.editor()
	for _, c := range slices.Backward(changes) {
		now, there, err := e.get(text, c.Path)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", c.Name(), err)
		}
		switch {
		case !there || now != c.New:
			kept = append(kept, c)
		case c.Had:
			text, err = e.set(text, c.Path, c.Old)
		default:
			text, err = e.remove(text, c.Path, c.Made)
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", c.Name(), err)
		}
	}
	return text, kept, nil
}

package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ridethrough/ridethrough/internal/operation/reload"
)

// secret is where a credential is stored; zero: nowhere.
type secret struct {
	env, file string
	none      bool // no credential is sent
}

// secrets is the codec of a secret.
func secrets() codec[secret] {
	f := object(
		&schema{name: "secret", about: "Where a secret is stored. It is never in the configuration file itself.", expected: "{env: NAME} or {file: PATH}", Type: "object", MinProperties: 1, MaxProperties: 1}, nil,
		newField("env", variable(), func(s *secret) *string { return &s.env }, fieldDoc{"The environment variable with the secret.", "", "see file"}),
		newField("file", anyName("a path"), func(s *secret) *string { return &s.file }, fieldDoc{"The file with the secret, relative to the configuration file. Surrounding space is ignored.", "", "see env"}),
	)
	fields := f.read
	f.read = func(r *reader, n *node, to *secret) bool {
		before := len(r.faults)
		defer func() {
			if len(r.faults) > before {
				r.hide(n)
			}
		}()
		switch {
		case n.kind == text || n.kind == number:
			r.fail(n, "a secret must not be in the configuration file; want %s", f.schema.expected)
		case n.kind != mapping || len(n.entries) != 1:
			r.fail(n, "want %s", f.schema.expected)
		default:
			return fields(r, n, to)
		}
		return false
	}
	return f
}

// hide removes a value from the excerpts of errors, since it may be a secret.
func (r *reader) hide(n *node) {
	if column, ok := r.hidden[n.line]; !ok || n.column < column {
		r.hidden[n.line] = n.column
	}
	for _, e := range n.entries {
		r.hide(e.key)
		r.hide(e.value)
	}
	for _, item := range n.items {
		r.hide(item)
	}
}

// keys is the codec of an upstream's credential.
func keys() codec[secret] {
	of := secrets()
	return codec[secret]{
		schema: &schema{expected: of.schema.expected + ", or none", AnyOf: []*schema{of.schema, {Type: "string", Enum: []string{"none"}}}},
		read: func(r *reader, n *node, to *secret) bool {
			if n.kind == text && n.text == "none" {
				to.none = true
				return true
			}
			return of.read(r, n, to)
		},
		show: func(s *secret) *node {
			if s.none {
				return &node{kind: text, text: "none"}
			}
			return of.show(s)
		},
	}
}

// variable is the codec of the name of an environment variable. Errors do not
// repeat an invalid name, which may be the secret itself.
func variable() codec[string] {
	f := checkedText("the name of an environment variable, such as ANTHROPIC_API_KEY", `^[A-Za-z_][A-Za-z0-9_]*$`, nil)
	f.read = func(r *reader, n *node, to *string) bool {
		ok := n.kind == text && n.text != "" && strings.IndexFunc(n.text, func(c rune) bool {
			return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}) < 0 && (n.text[0] < '0' || n.text[0] > '9')
		if !ok {
			r.fail(n, "want %s; the secret itself must not be in the configuration file", f.schema.expected)
		}
		*to = n.text
		return ok
	}
	return f
}

// open returns a function that returns the current credential; path makes paths absolute.
func (s secret) open(path func(string) string, env func(string) string) (func() (string, error), error) {
	if s.file != "" {
		name := path(s.file)
		read := func(texts [][]byte) (string, error) {
			value, err := oneLine(string(texts[0]))
			if err != nil {
				err = fmt.Errorf("file %s %w", name, err)
			}
			return value, err
		}
		f, err := reload.New(read, func(string, error) {}, name)
		return func() (string, error) { return f.Get(), nil }, err
	}
	value, err := oneLine(env(s.env))
	if err != nil {
		err = fmt.Errorf("environment variable %s %w", s.env, err)
	}
	return func() (string, error) { return value, nil }, err
}

// oneLine trims the space around a credential and rejects one that cannot be in a header.
func oneLine(value string) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", errors.New("is empty or not set")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", errors.New("has more than one line")
	}
	return value, nil
}

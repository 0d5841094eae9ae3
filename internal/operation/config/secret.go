package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// secret says where a credential is; zero: nowhere.
type secret struct {
	env, file string
	none      bool // nothing is wanted
}

// places is the form of a secret.
func places() form[secret] {
	f := object(
		schema{name: "secret", about: "Where a secret is stored. It is never in the configuration file itself.", words: "{env: NAME} or {file: PATH}", Type: "object", MinProperties: 1, MaxProperties: 1}, nil,
		of("env", variable(), func(s *secret) *string { return &s.env }, says{"The environment variable with the secret.", "", "see file"}),
		of("file", anyName("a path"), func(s *secret) *string { return &s.file }, says{"The file with the secret, relative to the configuration file. Surrounding space is ignored.", "", "see env"}),
	)
	fields := f.read
	f.read = func(r *reader, n *node) (secret, bool) {
		before := len(r.faults)
		defer func() {
			if len(r.faults) > before {
				r.hide(n)
			}
		}()
		switch {
		case n.kind == text || n.kind == number:
			r.fail(n, "a secret must not be in the configuration file; want %s", f.schema.words)
		case n.kind != mapping || len(n.entries) != 1:
			r.fail(n, "want %s", f.schema.words)
		default:
			return fields(r, n)
		}
		return secret{}, false
	}
	return f
}

// hide keeps a value that may be a secret from being shown.
func (r *reader) hide(n *node) {
	if column, ok := r.blind[n.line]; !ok || n.column < column {
		r.blind[n.line] = n.column
	}
	for _, e := range n.entries {
		r.hide(e.key)
		r.hide(e.value)
	}
	for _, item := range n.items {
		r.hide(item)
	}
}

// keys is the form of the credential of an upstream.
func keys() form[secret] {
	of := places()
	return form[secret]{
		schema: schema{words: of.schema.words + ", or none", AnyOf: []*schema{&of.schema, {Type: "string", Enum: []string{"none"}}}},
		read: func(r *reader, n *node) (secret, bool) {
			if n.kind == text && n.text == "none" {
				return secret{none: true}, true
			}
			return of.read(r, n)
		},
		show: func(s secret) *node {
			if s.none {
				return &node{kind: text, text: "none"}
			}
			return of.show(s)
		},
	}
}

// variable is the form of the name of an environment variable. What is none
// may be the secret itself, and is not repeated.
func variable() form[string] {
	f := wording("the name of an environment variable, such as ANTHROPIC_API_KEY", `^[A-Za-z_][A-Za-z0-9_]*$`, nil)
	f.read = func(r *reader, n *node) (string, bool) {
		ok := n.kind == text && n.text != "" && strings.IndexFunc(n.text, func(c rune) bool {
			return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}) < 0 && (n.text[0] < '0' || n.text[0] > '9')
		if !ok {
			r.fail(n, "want %s; the secret itself must not be in the configuration file", f.schema.words)
		}
		return n.text, ok
	}
	return f
}

// open returns the credential whenever it is asked for; path makes paths whole.
func (s secret) open(path func(string) string, env func(string) string) (func() (string, error), error) {
	if s.file != "" {
		f := &secretFile{path: path(s.file)}
		_, err := f.get()
		return f.get, err
	}
	value, err := oneLine(env(s.env))
	if err != nil {
		err = fmt.Errorf("environment variable %s %w", s.env, err)
	}
	return func() (string, error) { return value, nil }, err
}

// oneLine takes the space from the ends of a credential and refuses what no
// header can hold.
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

// secretFile is a file with a credential, which may be exchanged at any time.
type secretFile struct {
	path string

	mu    sync.Mutex
	value string      // as it was last read
	seen  os.FileInfo // of what it was read from
}

// get reads the file where it is another than the last time. A file that is
// gone or empty for a moment, as while it is being exchanged, changes nothing.
func (f *secretFile) get() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err == nil && f.seen != nil && same(f.seen, info) {
		return f.value, nil
	}
	var data []byte
	if err == nil {
		data, err = readFile(f.path)
	}
	if err != nil {
		err = reason(err)
	}
	value, empty := oneLine(string(data))
	switch {
	case err == nil && empty == nil:
		f.value, f.seen = value, info
	case f.value != "":
	case err != nil:
		return "", fmt.Errorf("file %s: %w", f.path, err)
	default:
		return "", fmt.Errorf("file %s %w", f.path, empty)
	}
	return f.value, nil
}

// reason is why a file cannot be had, without its path.
func reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// same reports whether nothing has happened to a file.
func same(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

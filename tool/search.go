package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const (
	found   = 200     // matches that are shown
	excerpt = 300     // bytes of a line that are shown
	huge    = 4 << 20 // a file above it is not searched
	history = ".git"  // git's directory, which is not searched
)

type searching struct {
	Pattern string `json:"pattern" jsonschema:"regular expression in RE2 syntax, held against each line; (?i) in front ignores case"`
	Path    string `json:"path,omitzero" jsonschema:"the directory or file, relative to the folder; everything if it is left out"`
	Files   string `json:"files,omitzero" jsonschema:"only files whose name matches this pattern, such as *.go"`
}

func (f *Folder) search(ctx context.Context, in searching) (string, error) {
	start, err := f.name(in.Path)
	if err != nil {
		return "", err
	}
	pattern, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", err
	}
	if _, err := path.Match(in.Files, ""); err != nil {
		return "", fmt.Errorf("files: %w", err)
	}
	info, err := f.root.Stat(start)
	if err != nil {
		return "", plain(start, err)
	}
	s := search{folder: f, pattern: pattern, files: in.Files}
	if err = s.visit(ctx, start, info.Mode()); errors.Is(err, errEnough) {
		err = nil
	}
	return s.result(), err
}

// errEnough ends a search that has enough matches.
var errEnough = errors.New("enough matches")

// search is one search through a folder.
type search struct {
	folder  *Folder
	pattern *regexp.Regexp
	files   string

	out                           []byte
	matches                       int // lines
	searched, skipped, unreadable int // files; the skipped ones are binary or too large
	large                         int // directories of which not all entries were read
}

// visit searches a file, or a directory and all below it.
func (s *search) visit(ctx context.Context, name string, mode fs.FileMode) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case mode.IsDir() && path.Base(name) == history:
		return nil
	case mode.IsDir():
		return s.visitDirectory(ctx, name)
	case !mode.IsRegular() || !s.wanted(path.Base(name)):
		return nil
	}
	text, err := s.folder.text(name)
	switch {
	case err != nil:
		s.unreadable++
		return nil
	case text == nil:
		s.skipped++
		return nil
	}
	s.searched++
	return s.scan(name, text)
}

func (s *search) visitDirectory(ctx context.Context, name string) error {
	all, rest, err := s.folder.entries(ctx, name)
	if err != nil {
		s.unreadable++
		return ctx.Err()
	}
	if rest {
		s.large++
	}
	for _, e := range all {
		if err := s.visit(ctx, path.Join(name, e.Name()), e.Type()); err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether the file's name matches the request.
func (s *search) wanted(name string) bool {
	ok, err := path.Match(s.files, name)
	return s.files == "" || ok && err == nil
}

// text returns the content of a file; nil: it is binary or too large.
func (f *Folder) text(name string) ([]byte, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > huge {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(file, huge))
	if err != nil || binary(text[:min(len(text), sniff)]) {
		return nil, err
	}
	return text, nil
}

// scan adds the lines that match, and ends the search when there are enough.
func (s *search) scan(name string, text []byte) error {
	n := 0
	for l := range bytes.Lines(text) {
		n++
		l = bytes.TrimRight(l, "\r\n")
		if !s.pattern.Match(l) {
			continue
		}
		if s.matches++; s.matches > found {
			return errEnough
		}
		s.out = fmt.Appendf(s.out, "%s:%d: ", visible(name), n)
		s.out = appendLine(s.out, l[:min(len(l), excerpt)], max(0, len(l)-excerpt))
	}
	return nil
}

// result returns the matches, and what was not searched.
func (s *search) result() string {
	var b strings.Builder
	b.Write(s.out)
	switch {
	case s.matches > found:
		fmt.Fprintf(&b, "[more than %d lines match: narrow the search]\n", found)
	case s.matches == 0:
		fmt.Fprintf(&b, "[no line matches in %d files]\n", s.searched)
	}
	if s.skipped > 0 {
		fmt.Fprintf(&b, "[left out: %d files that are binary or above 4 MiB]\n", s.skipped)
	}
	if s.large > 0 {
		fmt.Fprintf(&b, "[not searched: entries beyond the first %d of a directory, in %d directories]\n", entries, s.large)
	}
	if s.unreadable > 0 {
		fmt.Fprintf(&b, "[could not be read: %d]\n", s.unreadable)
	}
	return b.String()
}

package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Folder lets a model read a folder and everything below it. Nothing outside can be reached: not by "..",
// an absolute path or a symbolic link.
type Folder struct {
	root *os.Root
}

// Files opens a folder for a model to read.
func Files(root string) (*Folder, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	opened, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, err
	}
	return &Folder{opened}, nil
}

// FilesBelow opens a directory below a folder for a model to read. Nothing outside the directory can be reached,
// and the directory is not outside the folder.
func FilesBelow(root, dir string) (*Folder, error) {
	whole, err := Files(root)
	if err != nil {
		return nil, err
	}
	opened, err := whole.root.OpenRoot(filepath.FromSlash(dir))
	if err != nil {
		return nil, errors.Join(plain(dir, err), whole.Close())
	}
	return &Folder{opened}, whole.Close()
}

// Tools returns the tools list_files, read_file and search_files. They change nothing and read the current
// files. Names with characters that cannot be seen are in quotes, as in JSON.
func (f *Folder) Tools() []Tool {
	return []Tool{
		Func("list_files", "Lists a directory: subdirectories end with a slash, files have their size in bytes, unusual names are in quotes as in JSON.", f.list),
		Func("read_file", "Reads lines of a text file.", f.read),
		Func("search_files", "Searches the text files of a directory and all below it for lines that match a regular expression, "+
			"and gives them as path:line: text. Leaves out .git, binary files and files above 4 MiB.", f.search),
	}
}

// Close ends the access to the folder. Later runs of its tools fail.
func (f *Folder) Close() error { return f.root.Close() }

// name converts the model's path to a path of package io/fs.
func (f *Folder) name(given string) (string, error) {
	if given == "" {
		return ".", nil
	}
	name := filepath.FromSlash(given)
	if filepath.IsAbs(name) { // models often write the full path
		inside, err := filepath.Rel(f.root.Name(), name)
		if err != nil {
			return "", errors.New(visible(given) + " is outside the folder")
		}
		name = inside
	}
	if name = filepath.Clean(name); !filepath.IsLocal(name) {
		return "", errors.New(visible(given) + " is outside the folder")
	}
	return filepath.ToSlash(name), nil
}

// open opens a regular file for reading. Others could block forever, or do something when they are opened.
func (f *Folder) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, nil, plain(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notFile(name)
	}
	return f.openPresent(name)
}

// openPresent opens what is there now. Another process may have replaced the file a moment ago, so it does not
// wait, and looks at what it has opened.
func (f *Folder) openPresent(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, plain(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notFile(name)
	}
	if err != nil {
		return nil, nil, errors.Join(plain(name, err), file.Close())
	}
	return file, info, nil
}

func notFile(name string) error { return errors.New(visible(name) + " is not a file") }

// plain removes the system call from an error.
func plain(name string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", visible(name), p.Err)
	}
	return err
}

type listing struct {
	Path string `json:"path,omitzero" jsonschema:"the directory, relative to the folder; the folder itself if it is left out"`
}

const (
	listed  = 1000   // entries of a directory that are shown
	entries = 20_000 // entries of a directory that are read
)

func (f *Folder) list(ctx context.Context, in listing) (string, error) {
	name, err := f.name(in.Path)
	if err != nil {
		return "", err
	}
	all, rest, err := f.entries(ctx, name)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "[empty]", nil
	}
	var out []byte
	for _, e := range all[:min(len(all), listed)] {
		out = append(append(out, f.describe(name, e)...), '\n')
	}
	switch more := len(all) - listed; {
	case rest:
		out = fmt.Appendf(out, "[more than %d more]\n", more)
	case more > 0:
		out = fmt.Appendf(out, "[%d more]\n", more)
	}
	return string(out), nil
}

// entries returns the first entries of a directory, sorted by name, and whether there are more.
func (f *Folder) entries(ctx context.Context, name string) (all []fs.DirEntry, rest bool, err error) {
	dir, err := f.root.OpenFile(name, os.O_RDONLY|noWait|onlyDirectory, 0)
	if err != nil {
		return nil, false, plain(name, err)
	}
	defer dir.Close()
	for len(all) <= entries && err == nil && ctx.Err() == nil {
		var some []fs.DirEntry
		some, err = dir.ReadDir(1000)
		all = append(all, some...)
	}
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, plain(name, err)
	}
	rest = len(all) > entries
	all = all[:min(len(all), entries)]
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, rest, nil
}

// describe describes an entry of a directory.
func (f *Folder) describe(dir string, e fs.DirEntry) string {
	name := visible(e.Name())
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return name + " (link)"
	case !e.Type().IsRegular():
		return name + " (not a file)"
	}
	info, err := f.root.Lstat(path.Join(dir, e.Name())) // that of e may be of a file outside
	if err != nil {
		return name
	}
	return fmt.Sprintf("%s (%d)", name, info.Size())
}

// visible returns a name as it is, or in quotes as in JSON if it has characters that cannot be seen, such as
// line feeds and those that change the direction of the text.
func visible(name string) string {
	if strconv.Quote(name) == `"`+name+`"` {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		switch first, second := utf16.EncodeRune(r); {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, first, second)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return `"` + b.String() + `"`
}

package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// Tools returns the tools list_files, read_file and search_files. They change nothing and read the current
// files.
func (f *Folder) Tools() []Tool {
	return []Tool{
		Func("list_files", "Lists a directory: subdirectories end with a slash, files have their size in bytes.", f.list),
		Func("read_file", "Reads lines of a text file.", f.read),
		Func("search_files", "Searches the text files of a directory and all below it for lines that match a regular expression, "+
			"and gives them as path:line: text. Leaves out .git, binary files and files above 4 MiB.", f.search),
	}
}

// Close ends the access to the folder. Later runs of its tools fail.
func (f *Folder) Close() error { return f.root.Close() }

// name converts the model's path to a path of package io/fs.
func (f *Folder) name(path string) (string, error) {
	if path == "" {
		return ".", nil
	}
	name := filepath.FromSlash(path)
	if filepath.IsAbs(name) { // models often write the full path
		inside, err := filepath.Rel(f.root.Name(), name)
		if err != nil {
			return "", errors.New(path + " is outside the folder")
		}
		name = inside
	}
	if name = filepath.Clean(name); !filepath.IsLocal(name) {
		return "", errors.New(path + " is outside the folder")
	}
	return filepath.ToSlash(name), nil
}

// open opens a regular file for reading; others could block forever.
func (f *Folder) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, nil, plain(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New(name + " is not a file")
	}
	file, err := f.root.Open(name)
	return file, info, plain(name, err)
}

// plain removes the system call from an error.
func plain(name string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", name, p.Err)
	}
	return err
}

type listing struct {
	Path string `json:"path,omitzero" jsonschema:"the directory, relative to the folder; the folder itself if it is left out"`
}

// entries is how many entries of a directory are listed.
const entries = 1000

func (f *Folder) list(_ context.Context, in listing) (string, error) {
	name, err := f.name(in.Path)
	if err != nil {
		return "", err
	}
	all, err := fs.ReadDir(f.root.FS(), name)
	if err != nil {
		return "", plain(name, err)
	}
	var out []byte
	for i, e := range all {
		if i == entries {
			out = fmt.Appendf(out, "[%d more]\n", len(all)-i)
			break
		}
		out = append(append(out, entry(e)...), '\n')
	}
	if len(all) == 0 {
		return "[empty]", nil
	}
	return string(out), nil
}

// entry describes a directory entry.
func entry(e fs.DirEntry) string {
	info, err := e.Info()
	switch {
	case e.IsDir():
		return e.Name() + "/"
	case err != nil:
		return e.Name()
	case e.Type()&fs.ModeSymlink != 0:
		return e.Name() + " (link)"
	case !e.Type().IsRegular():
		return e.Name() + " (not a file)"
	}
	return fmt.Sprintf("%s (%d)", e.Name(), info.Size())
}

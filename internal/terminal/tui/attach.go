package tui

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/llm"
)

const maxFile = 256 << 10

// mention is a file that a prompt names after an @.
type mention struct {
	start, end int // in the prompt
	path       string
	quoted     bool // the path is in quotes, which may not be closed yet
}

// mentionsIn returns the files that a prompt names. An @ inside a word names none, as in an address.
func mentionsIn(text string) (all []mention) {
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || i > 0 && !unicode.IsSpace(rune(text[i-1])) {
			continue
		}
		m := mention{start: i, end: len(text)}
		rest := text[i+1:]
		if m.quoted = strings.HasPrefix(rest, `"`); m.quoted {
			m.path = rest[1:]
			if n := strings.IndexByte(m.path, '"'); n >= 0 {
				m.path, m.end = m.path[:n], i+n+3
			}
		} else {
			m.path = rest
			if n := strings.IndexFunc(rest, unicode.IsSpace); n >= 0 {
				m.path, m.end = rest[:n], i+1+n
			}
		}
		if m.path != "" {
			all = append(all, m)
		}
		i = m.end - 1
	}
	return all
}

// looksLikeFile reports whether a file is meant, and not a person or a line of code.
func (m mention) looksLikeFile() bool {
	return m.quoted || strings.ContainsAny(m.path, "./") && !strings.ContainsAny(m.path, "()[]{}<>=")
}

type attached struct {
	files   string      // to be sent behind what was typed
	images  []llm.Image // to be sent with it
	lacking []string    // why files are not in it, in sentences
	asks    bool        // whether files outside of the directory may be
}

type file struct {
	text  string
	image *llm.Image // nil: it is a text
}

// attach reads the files that a prompt names. Those outside the directory need the user's consent.
func attach(text, dir string, consent bool) (a attached) {
	var b strings.Builder
	seen := map[string]bool{}
	for _, m := range mentionsIn(text) {
		f, path, err := readMention(m, dir, consent)
		if err == nil && f.image != nil {
			if full := llm.CheckImages(append(slices.Clip(a.images), *f.image)); full != nil {
				err = fmt.Errorf("does not fit: %w", full)
			}
		}
		if errors.Is(err, fs.ErrNotExist) && !m.looksLikeFile() || seen[path] {
			continue
		}
		seen[path] = true
		why := printable.Line(path) + " " + sentence(err)
		switch {
		case errors.Is(err, errOutside): // first, so that it is seen: the user may consent to it
			a.asks, a.lacking = true, append([]string{why}, a.lacking...)
		case err != nil:
			a.lacking = append(a.lacking, why)
		case f.image != nil:
			a.images = append(a.images, *f.image)
		default:
			b.WriteString(fileBlock(path, f.text))
		}
	}
	a.files = b.String()
	return a
}

var (
	errOutside = errors.New("is outside of this directory")
	errBinary  = errors.New("is neither text nor an image")
	errLarge   = fmt.Errorf("is longer than %d KiB", maxFile>>10)
	errKind    = errors.New("is not a file")
)

func sentence(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read"
	}
	return err.Error()
}

// readMention reads the file of a mention. Without consent it follows neither a path nor a link out of the
// directory. Punctuation at the end of a sentence is not part of the name.
func readMention(m mention, dir string, consent bool) (f file, path string, err error) {
	path = m.path
	f, err = readFile(path, dir, consent)
	if shorter := strings.TrimRight(path, ".,;:!?)"); errors.Is(err, fs.ErrNotExist) && !m.quoted && shorter != path && shorter != "" {
		if again, errAgain := readFile(shorter, dir, consent); !errors.Is(errAgain, fs.ErrNotExist) {
			return again, shorter, errAgain
		}
	}
	return f, path, err
}

func readFile(path, dir string, consent bool) (file, error) {
	full := resolve(path, dir)
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return file{}, err
	}
	if !consent && !inside(real, dir) {
		return file{}, errOutside
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return file{}, err
	case !info.Mode().IsRegular():
		return file{}, errKind
	}
	content, err := readRegular(real)
	switch {
	case err != nil:
		return file{}, err
	case llm.ImageType(content) != "":
		i, err := llm.NewImage(filepath.Base(path), content)
		return file{image: &i}, err
	case len(content) > maxFile:
		return file{}, errLarge
	case !utf8.Valid(content) || strings.ContainsRune(string(content), 0):
		return file{}, errBinary
	}
	return file{text: string(content)}, nil
}

// readRegular reads a regular file up to the size at which it is too large.
func readRegular(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, llm.MaxImage+1))
}

func resolve(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func inside(real, dir string) bool {
	home, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(home, real)
	return err == nil && filepath.IsLocal(rel)
}

// Attach returns the content of a file for a prompt, wherever the file is: an image, or a text in the form of the
// prompt.
func Attach(path string) (text string, image *llm.Image, err error) {
	f, err := readFile(path, "", true)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s %s", path, sentence(err))
	case f.image != nil:
		return "", f.image, nil
	}
	return fileBlock(path, f.text), nil, nil
}

// fileBlock formats a file for the model, with its name and an end that its text cannot contain.
func fileBlock(path, content string) string {
	tag := "file"
	for strings.Contains(content, "</"+tag+">") {
		tag += "x"
	}
	return fmt.Sprintf("\n\n<%s name=%s bytes=\"%d\">\n%s\n</%[1]s>", tag, strconv.Quote(path), len(content), content)
}

// typedOf returns what was typed of a prompt, and descriptions of its files.
func typedOf(prompt string) (typed string, files []string) {
	i := strings.Index(prompt, "\n\n<file")
	if i < 0 {
		return prompt, nil
	}
	for rest := prompt[i:]; rest != ""; {
		path, content, next, ok := cutFile(rest)
		if !ok {
			return prompt, nil // it was typed like that
		}
		files = append(files, printable.Line(path)+", "+text.Count(lineCount(content), "line", "lines"))
		rest = next
	}
	return prompt[:i], files
}

func typed(text string) string {
	text, _ = typedOf(text)
	return text
}

// cutFile reverses fileBlock at the beginning of a text.
func cutFile(text string) (path, content, rest string, ok bool) {
	head, body, ok := strings.Cut(strings.TrimPrefix(text, "\n\n<"), ">\n")
	tag, attributes, named := strings.Cut(head, " name=")
	i := strings.LastIndex(attributes, ` bytes="`)
	if !ok || !named || i < 0 || strings.TrimRight(tag, "x") != "file" {
		return "", "", "", false
	}
	size, errSize := strconv.Atoi(strings.TrimSuffix(attributes[i+len(` bytes="`):], `"`))
	path, errName := strconv.Unquote(attributes[:i])
	if errSize != nil || errName != nil || size < 0 || size > len(body) {
		return "", "", "", false
	}
	rest, ok = strings.CutPrefix(body[size:], "\n</"+tag+">")
	return path, body[:size], rest, ok
}

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

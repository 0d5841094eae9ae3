package printable

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a JSON text in which characters that are not printable are escaped. Its value stays the same.
func JSON(text []byte) []byte {
	if plain(text) {
		return text
	}
	out := make([]byte, 0, len(text)+32)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\r': // white space
			out = append(out, ' ')
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case Is(r):
			out = append(out, text[:n]...)
		default:
			out = appendEscape(out, r)
		}
		text = text[n:]
	}
	return out
}

func appendEscape(to []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(to, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(to, `\u%04x`, r)
}

type writer struct {
	to      io.Writer
	convert func([]byte) []byte
	rest    []byte // the beginning of a character
}

// NewTextWriter returns a writer that writes to w what [Text] returns.
func NewTextWriter(w io.Writer) io.Writer {
	return &writer{to: w, convert: func(p []byte) []byte { return []byte(Text(string(p))) }}
}

// NewJSONWriter returns a writer that writes to w what [JSON] returns.
func NewJSONWriter(w io.Writer) io.Writer { return &writer{to: w, convert: JSON} }

func (w *writer) Write(p []byte) (int, error) {
	all := append(w.rest, p...)
	whole := len(all) - len(incomplete(all))
	w.rest = append([]byte(nil), all[whole:]...)
	if _, err := w.to.Write(w.convert(all[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// incomplete returns the incomplete character at the end of a text.
func incomplete(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return nil
			}
			return tail
		}
	}
	return nil
}

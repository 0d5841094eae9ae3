package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	lines  = 2000     // that are read where nobody says how many
	wide   = 4 << 10  // the longest line that is shown whole
	amount = 48 << 10 // of text that is read at once: what is left is another call, and no hole in the middle
	sniff  = 8 << 10  // in which a zero byte makes a file binary, as git has it
)

type reading struct {
	Path   string `json:"path" jsonschema:"the file, relative to the folder"`
	Offset int    `json:"offset,omitzero" jsonschema:"the first line to read; 1 if it is left out"`
	Limit  int    `json:"limit,omitzero" jsonschema:"how many lines to read; 2000 if it is left out"`
}

func (f *Folder) read(ctx context.Context, in reading) (string, error) {
	name, err := f.name(in.Path)
	if err != nil {
		return "", err
	}
	file, info, err := f.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, sniff)
	if head, _ := r.Peek(sniff); binary(head) {
		return "", fmt.Errorf("%s is a binary file of %d bytes", name, info.Size())
	}
	w := window{first: max(1, in.Offset), count: in.Limit}
	if w.count <= 0 {
		w.count = lines
	}
	w.first, w.count = min(w.first, math.MaxInt/2), min(w.count, math.MaxInt/2)
	return w.read(ctx, r)
}

func binary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

// window is the part of a file that somebody wants to see.
type window struct{ first, count int }

func (w window) read(ctx context.Context, r *bufio.Reader) (string, error) {
	var out []byte
	n := 1
	for ; n < w.first+w.count && len(out) < amount; n++ {
		text, more, err := next(r)
		if errors.Is(err, io.EOF) {
			return w.whole(out, n-1)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
		if n >= w.first {
			out = appendLine(out, text, more)
		}
	}
	if _, err := r.Peek(1); err != nil {
		return w.whole(out, n-1)
	}
	return fmt.Sprintf("%s[the file goes on: read from offset %d]", out, n), nil
}

// whole ends a reading that has come to the end of the file.
func (w window) whole(out []byte, lines int) (string, error) {
	switch {
	case lines == 0:
		return "[the file is empty]", nil
	case lines < w.first:
		return "", fmt.Errorf("the file has only %d lines", lines)
	}
	return string(out), nil
}

// appendLine adds a line, or its beginning.
func appendLine(out, text []byte, more int) []byte {
	out = append(out, text...)
	if more > 0 {
		out = fmt.Appendf(out, " [%d more bytes in this line]", more)
	}
	return append(out, '\n')
}

// next reads a line without its end, and says how much of it is too much.
func next(r *bufio.Reader) (text []byte, more int, err error) {
	piece, err := r.ReadSlice('\n')
	if len(piece) == 0 {
		return nil, 0, err
	}
	text = bytes.TrimRight(piece, "\r\n")
	if len(text) > wide {
		more, text = len(text)-wide, text[:wide]
	}
	text = bytes.Clone(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		piece, err = r.ReadSlice('\n')
		more += len(piece)
	}
	if errors.Is(err, io.EOF) {
		err = nil // the last line may have no end
	}
	return text, more, err
}

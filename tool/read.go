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
	lines  = 2000     // read by default
	wide   = 4 << 10  // bytes of a line that are shown
	amount = 48 << 10 // bytes of text per call; the rest is left to another call
	sniff  = 8 << 10  // a zero byte in the first 8 KiB makes a file binary, as in git
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
	r := bufio.NewReaderSize(contextReader{ctx, file}, sniff)
	if head, _ := r.Peek(sniff); binary(head) {
		return "", fmt.Errorf("%s is a binary file of %d bytes", visible(name), info.Size())
	}
	w := window{first: max(1, in.Offset), count: in.Limit}
	if w.count <= 0 {
		w.count = lines
	}
	w.first, w.count = min(w.first, math.MaxInt/2), min(w.count, math.MaxInt/2)
	return w.read(ctx, r)
}

// contextReader reads until its context ends: a line may be as long as the disk is large.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	return r.Reader.Read(p)
}

func binary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

// window is the range of lines to read.
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
	return fmt.Sprintf("%s[the file continues: read from offset %d]", out, n), nil
}

// whole returns the result of a reading up to the end of the file.
func (w window) whole(out []byte, lines int) (string, error) {
	switch {
	case lines == 0:
		return "[the file is empty]", nil
	case lines < w.first:
		return "", fmt.Errorf("the file has only %d lines", lines)
	}
	return string(out), nil
}

// appendLine appends a line, or its beginning.
func appendLine(out, text []byte, more int) []byte {
	out = append(out, text...)
	if more > 0 {
		out = fmt.Appendf(out, " [%d more bytes in this line]", more)
	}
	return append(out, '\n')
}

// next reads a line without its end, and returns how many bytes of it were cut off.
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

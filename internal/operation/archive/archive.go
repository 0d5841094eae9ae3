// Package archive writes conversations as lines of JSON and reads them back:
// for copies, for the way into another store, and for what has gone cold. A
// line is a record, with the id of its conversation. The first line says what
// the file is, the last one how much is in it, so that a file that breaks off
// is noticed. Files of that form can stand one behind the other, and be
// compressed with gzip.
//
// The package knows records, but not what they mean: whether a conversation may
// be taken in, package conversation says.
package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

const (
	format  = "ridethrough-conversations"
	version = 1
	longest = 48 << 20 // bytes in a line; the largest record is one of 32 MiB
)

var (
	gzipMagic  = []byte("\x1f\x8b")
	errEarlier = errors.New("the file is of an earlier version, whose format is no longer read")
)

// Conversation is one with its whole log.
type Conversation struct {
	ID      string
	Records []store.Record
}

// header is the first line.
type header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
}

// line is that of a record.
type line struct {
	Conversation string `json:"conversation"`
	store.Record
}

// total is what a file holds.
type total struct {
	Conversations int `json:"conversations"`
	Records       int `json:"records"`
}

// footer is the last line.
type footer struct {
	End total `json:"end"`
}

// Writer writes conversations.
type Writer struct {
	to      *bufio.Writer
	encoder *json.Encoder
	sum     total
}

// NewWriter begins a file that says when it was written.
func NewWriter(to io.Writer, now time.Time) (*Writer, error) {
	w := newWriter(to)
	return w, w.encoder.Encode(header{format, version, now.UTC()})
}

// newWriter returns a writer of lines.
func newWriter(to io.Writer) *Writer {
	b := bufio.NewWriter(to)
	w := &Writer{to: b, encoder: json.NewEncoder(b)}
	w.encoder.SetEscapeHTML(false)
	return w
}

// Add writes a conversation.
func (w *Writer) Add(c Conversation) error {
	for _, r := range c.Records {
		if err := w.encoder.Encode(line{c.ID, r}); err != nil {
			return err
		}
	}
	w.sum.Conversations++
	w.sum.Records += len(c.Records)
	return nil
}

// Close ends the file. Without it, whoever reads it takes it for broken off.
func (w *Writer) Close() error {
	if err := w.encoder.Encode(footer{w.sum}); err != nil {
		return err
	}
	return w.to.Flush()
}

// Read yields the conversations of a file, each once it is whole. The sequence
// is for ranging over once; the error is last and names the line.
func Read(from io.Reader) iter.Seq2[Conversation, error] {
	return func(yield func(Conversation, error) bool) {
		r := &reader{yield: yield}
		err := r.read(from)
		if errors.Is(err, errEnough) {
			return
		}
		if err != nil {
			yield(Conversation{}, fmt.Errorf("line %d: %w", max(r.n, 1), err))
		}
	}
}

// plain returns what is in a file that may be compressed.
func plain(from io.Reader) (io.Reader, error) {
	b := bufio.NewReader(from)
	if magic, _ := b.Peek(2); !bytes.Equal(magic, gzipMagic) {
		return b, nil // also one that cannot be read, of which the next one to try hears
	}
	return gzip.NewReader(b)
}

// errEnough says that the reader has read enough.
var errEnough = errors.New("enough")

// reader puts lines together.
type reader struct {
	yield func(Conversation, error) bool
	n     int  // lines
	open  bool // between a header and its footer
	any   bool // there was a header
	now   Conversation
	sum   total
}

// read takes all lines.
func (r *reader) read(from io.Reader) error {
	text, err := plain(from)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		r.n++
		if err := r.take(lines.Bytes()); err != nil {
			return err
		}
	}
	return cmp.Or(lines.Err(), r.done())
}

// take takes the next line.
func (r *reader) take(text []byte) error {
	if !r.open && bytes.HasPrefix(text, []byte(`{"v":1,"seq":`)) {
		return errEarlier
	}
	var l struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		End     *total `json:"end"`
		line
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return fmt.Errorf("no line of a file with conversations: %w", err)
	}
	switch {
	case !r.open && l.Format != format:
		return errors.New("no file with conversations, as `ridethrough export` writes them, begins like that")
	case !r.open && l.Version != version:
		return fmt.Errorf("the file is of version %d, and only version %d is known", l.Version, version)
	case !r.open:
		r.open, r.any, r.sum = true, true, total{}
		return nil
	case l.End != nil:
		return r.close(*l.End)
	}
	return r.record(l.line)
}

// record takes the next record.
func (r *reader) record(l line) error {
	if l.Conversation == "" {
		return errors.New("it belongs to no conversation")
	}
	if l.Conversation != r.now.ID {
		if err := r.whole(); err != nil {
			return err
		}
		r.now = Conversation{ID: l.Conversation}
	}
	if want := int64(len(r.now.Records) + 1); l.N != want {
		return fmt.Errorf("record %d of %s stands in the place of %d", l.N, l.Conversation, want)
	}
	r.now.Records = append(r.now.Records, l.Record)
	return nil
}

// whole hands on the conversation that has come to its end.
func (r *reader) whole() error {
	c := r.now
	if r.now = (Conversation{}); c.ID == "" {
		return nil
	}
	r.sum.Conversations++
	r.sum.Records += len(c.Records)
	if !r.yield(c, nil) {
		return errEnough
	}
	return nil
}

// close takes the last line.
func (r *reader) close(said total) error {
	if err := r.whole(); err != nil {
		return err
	}
	if r.open = false; r.sum != said {
		return fmt.Errorf("of %d records in %d conversations, %d in %d are there", said.Records, said.Conversations, r.sum.Records, r.sum.Conversations)
	}
	return nil
}

// done says what is missing at the end of the file.
func (r *reader) done() error {
	switch {
	case r.open:
		return errors.New("the file breaks off here")
	case !r.any:
		return errors.New("the file is empty")
	}
	return nil
}

// All yields the heads of all conversations. Of one that is damaged it yields
// the *store.Damage, and goes on; any other error is last.
func All(ctx context.Context, j store.Log) iter.Seq2[store.Head, error] {
	return func(yield func(store.Head, error) bool) {
		for before, more := "", true; more; {
			more = false
			for head, err := range j.Conversations(ctx, before) {
				if d, ok := errors.AsType[*store.Damage](err); ok && d.Conversation != before {
					before, more = d.Conversation, true
				}
				if !yield(head, err) {
					return
				}
			}
		}
	}
}

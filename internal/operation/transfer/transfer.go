// Package transfer reads and writes conversations as JSON lines, for backups and for moving them to another
// store. A line is a record with the id of its conversation. The
// first line has the format, the last one the number of records, so that a truncated file is noticed. Files
// can be concatenated, and compressed with gzip.
//
// The package does not interpret records: package conversation validates them.
package transfer

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
	errEarlier = errors.New("the file has a format of an earlier version, which is no longer supported")
)

// Conversation is a conversation with all its records.
type Conversation struct {
	ID      string
	Records []store.Record
}

type header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
}

type line struct {
	Conversation string `json:"conversation"`
	store.Record
}

type total struct {
	Conversations int `json:"conversations"`
	Records       int `json:"records"`
}

type footer struct {
	End total `json:"end"`
}

// Writer writes conversations to a file.
type Writer struct {
	to      *bufio.Writer
	encoder *json.Encoder
	last    string // the conversation of the last record
	sum     total
}

// NewWriter writes the first line of a file, with the time of writing.
func NewWriter(to io.Writer, now time.Time) (*Writer, error) {
	b := bufio.NewWriter(to)
	w := &Writer{to: b, encoder: json.NewEncoder(b)}
	w.encoder.SetEscapeHTML(false)
	return w, w.encoder.Encode(header{format, version, now.UTC()})
}

// Add writes a conversation.
func (w *Writer) Add(c Conversation) error {
	for _, r := range c.Records {
		if err := w.AddRecord(c.ID, r); err != nil {
			return err
		}
	}
	return nil
}

// AddRecord writes the next record of a conversation. Its records follow each other.
func (w *Writer) AddRecord(conversation string, r store.Record) error {
	if conversation != w.last {
		w.last = conversation
		w.sum.Conversations++
	}
	w.sum.Records++
	return w.encoder.Encode(line{conversation, r})
}

// Close writes the last line. Without it, Read reports a truncated file.
func (w *Writer) Close() error {
	if err := w.encoder.Encode(footer{w.sum}); err != nil {
		return err
	}
	return w.to.Flush()
}

// Read yields the conversations of a file, which may be compressed, each when it is complete. The sequence can
// be used once. An error is last and names the line.
func Read(from io.Reader) iter.Seq2[Conversation, error] {
	b := bufio.NewReader(from)
	if magic, _ := b.Peek(2); !bytes.Equal(magic, gzipMagic) {
		return ReadText(b) // a read error occurs again in the next read
	}
	text, err := gzip.NewReader(b)
	if err != nil {
		return func(yield func(Conversation, error) bool) { yield(Conversation{}, fmt.Errorf("line 1: %w", err)) }
	}
	return ReadText(text)
}

// ReadText is [Read] for a file that is not compressed.
func ReadText(from io.Reader) iter.Seq2[Conversation, error] {
	return func(yield func(Conversation, error) bool) {
		r := &reader{yield: yield}
		err := r.read(from)
		if errors.Is(err, errStop) {
			return
		}
		if err != nil {
			yield(Conversation{}, fmt.Errorf("line %d: %w", max(r.n, 1), err))
		}
	}
}

var errStop = errors.New("stop")

type reader struct {
	yield func(Conversation, error) bool
	n     int  // lines
	open  bool // between a header and its footer
	now   Conversation
	sum   total
}

func (r *reader) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		r.n++
		if err := r.take(lines.Bytes()); err != nil {
			return cmp.Or(lines.Err(), err) // a read that failed left half a line
		}
	}
	switch {
	case lines.Err() != nil:
		return lines.Err()
	case r.open:
		return errors.New("the file is truncated here")
	case r.n == 0:
		return errors.New("the file is empty")
	}
	return nil
}

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
		return fmt.Errorf("not a line of a conversation file: %w", err)
	}
	switch {
	case !r.open && l.Format != format:
		return errors.New("not a conversation file of `ridethrough export`")
	case !r.open && l.Version != version:
		return fmt.Errorf("the file has version %d, want %d", l.Version, version)
	case !r.open:
		r.open, r.sum = true, total{}
		return nil
	case l.End != nil:
		return r.close(*l.End)
	}
	return r.record(l.line)
}

func (r *reader) record(l line) error {
	if l.Conversation == "" {
		return errors.New("the record has no conversation")
	}
	if l.Conversation != r.now.ID {
		if err := r.whole(); err != nil {
			return err
		}
		r.now = Conversation{ID: l.Conversation}
	}
	if want := int64(len(r.now.Records) + 1); l.N != want {
		return fmt.Errorf("conversation %s has record %d, want %d", l.Conversation, l.N, want)
	}
	r.now.Records = append(r.now.Records, l.Record)
	return nil
}

// whole yields the completed conversation.
func (r *reader) whole() error {
	c := r.now
	if r.now = (Conversation{}); c.ID == "" {
		return nil
	}
	r.sum.Conversations++
	r.sum.Records += len(c.Records)
	if !r.yield(c, nil) {
		return errStop
	}
	return nil
}

func (r *reader) close(want total) error {
	if err := r.whole(); err != nil {
		return err
	}
	if r.open = false; r.sum != want {
		return fmt.Errorf("the file has %d records in %d conversations, want %d in %d", r.sum.Records, r.sum.Conversations, want.Records, want.Conversations)
	}
	return nil
}

// All yields the heads of all conversations. It yields the *store.Damage of a damaged
// conversation and continues; any other error is last.
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

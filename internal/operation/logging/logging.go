// Package logging writes the log of a server without ever making a request wait. A log whose reader is slow,
// stopped or gone, or whose disk is full, loses lines and says how many.
package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"time"
)

// Log is a log with the writer that it goes to.
type Log struct {
	*slog.Logger
	out *Writer
}

// New returns a log that is written to w in a format, such as slog.NewJSONHandler. [Log.Close] ends it.
func New(w io.Writer, format func(io.Writer) slog.Handler) *Log {
	out := NewWriter(w, func(dropped int64) []byte {
		var line bytes.Buffer
		r := slog.NewRecord(time.Now(), slog.LevelWarn, strconv.FormatInt(dropped, 10)+" log lines dropped", 0)
		r.Add("dropped", dropped)
		_ = format(&line).Handle(context.Background(), r) // a buffer takes everything
		return line.Bytes()
	})
	return &Log{Logger: slog.New(format(out)), out: out}
}

// Dropped returns how many lines were dropped.
func (l *Log) Dropped() int64 { return l.out.Dropped() }

// Close writes the last lines, as far as that works within a second.
func (l *Log) Close() { _ = l.out.Close() }

// Print writes a text that is not a line of a log, such as the error that ends a program, as far as that works
// within a second.
func Print(w io.Writer, text string) {
	out := NewWriter(w, func(int64) []byte { return nil })
	_, _ = io.WriteString(out, text)
	_ = out.Close()
}

// Package logging writes the log of a server without ever making a request wait. A log whose reader is slow,
// stopped or gone, or whose disk is full, loses lines and says how many.
package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// Log is a log with its writer.
type Log struct {
	*slog.Logger
	out *Writer
}

// New returns a log that writes to w in a format, such as slog.NewJSONHandler. [Log.Close] ends it.
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

// Close writes the last lines, if possible within a second.
func (l *Log) Close() { _ = l.out.Close() }

// Print writes a text that is not a line of a log, such as the error that ends a program, if possible within a
// second.
func Print(w io.Writer, text string) {
	out := NewWriter(w, func(int64) []byte { return nil })
	_, _ = io.WriteString(out, text)
	_ = out.Close()
}

const maxLine = 2 << 10

// Lines returns a writer that logs each line as the attribute "line" of a debug message. It is for the standard
// error of other programs.
func Lines(log *slog.Logger, message string) io.Writer { return &lines{log: log, message: message} }

type lines struct {
	log     *slog.Logger
	message string

	mu   sync.Mutex
	open []byte // the beginning of the line that has not ended, up to maxLine
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		l.open = append(l.open, line[:min(len(line), maxLine-len(l.open))]...)
		if rest = more; !ended {
			break
		}
		if text := bytes.TrimSpace(l.open); len(text) > 0 {
			l.log.Debug(l.message, "line", string(text))
		}
		l.open = l.open[:0]
	}
	return len(p), nil
}

package logging

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
)

// maxLine is how many bytes of a line are logged.
const maxLine = 2 << 10

// Lines returns a writer that logs each line as the attribute "line" of a debug message. It is for what other
// programs write on their standard error.
func Lines(log *slog.Logger, message string) io.Writer { return &lines{log: log, message: message} }

type lines struct {
	log     *slog.Logger
	message string

	mu   sync.Mutex
	open []byte // the beginning of the line that has not ended, up to maxLine
}

// Write implements io.Writer. It never fails.
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

package command

import (
	"io"
	"log/slog"
	"time"
)

// Logger returns a log in text for a terminal and in JSON for anything else. A nil level is info.
func Logger(w io.Writer, level slog.Leveler) *slog.Logger {
	if IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: shortTime, Level: level}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// shortTime leaves the date out.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.String(slog.TimeKey, a.Value.Time().Format(time.TimeOnly))
	}
	return a
}

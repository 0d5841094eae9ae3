package command

import (
	"io"
	"log/slog"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/logging"
)

// Logger returns the log of a command for one user, which is written at once. A nil level is info.
func Logger(w io.Writer, level slog.Leveler) *slog.Logger { return slog.New(format(w, level)(w)) }

// ServerLog returns the log of a server, whose requests never wait for it. A nil level is info.
func ServerLog(w io.Writer, level slog.Leveler) *logging.Log { return logging.New(w, format(w, level)) }

// format returns the format of a log on w: text on a terminal and JSON on anything else.
func format(w io.Writer, level slog.Leveler) func(io.Writer) slog.Handler {
	if IsTerminal(w) {
		return func(to io.Writer) slog.Handler {
			return slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: shortTime, Level: level})
		}
	}
	return func(to io.Writer) slog.Handler { return slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level}) }
}

// shortTime leaves the date out.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.String(slog.TimeKey, a.Value.Time().Format(time.TimeOnly))
	}
	return a
}

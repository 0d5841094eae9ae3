package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
)

// logger writes text for people at a terminal and JSON for programs, from a
// level on; nil: info.
func logger(w io.Writer, level slog.Leveler) *slog.Logger {
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: shortTime, Level: level}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// shortTime leaves the date out, which somebody at a terminal knows.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.String(slog.TimeKey, a.Value.Time().Format(time.TimeOnly))
	}
	return a
}

// isTerminal tells whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// telemetry makes what tells operators of the gateway. Where spans cannot be
// exported as the environment asks, everything else goes on.
func (c *serving) telemetry(ctx context.Context, log *slog.Logger) *telemetry.Telemetry {
	t, err := telemetry.New(ctx, telemetry.Config{Log: log, Version: version(), Env: c.s.Env})
	if err != nil {
		log.Warn("spans are not exported", "error", err.Error())
	}
	return t
}

// flushTime is how long the last spans may take to be exported.
const flushTime = 5 * time.Second

// flush exports the spans that are left when a command ends.
func flush(ctx context.Context, t *telemetry.Telemetry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	_ = t.Close(ctx) // what cannot be exported has been said
}

package agentcmd

import (
	"context"
	"log/slog"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/operation/telemetry"
	"github.com/ridethrough/ridethrough/internal/operation/turns"
)

// observe returns what logs the turns of a face and exports their spans as the OTEL_ variables ask. end exports
// the last ones.
func observe(ctx context.Context, s command.Streams, face string, log *slog.Logger) (watcher *turns.Watcher, end func()) {
	t, err := telemetry.New(ctx, telemetry.Config{Log: log, Version: command.Version(), Env: s.Env})
	if err != nil && log != nil {
		log.Warn("spans are not exported", "error", err.Error())
	}
	return turns.New(face, t.Watch), func() { t.Flush(ctx) }
}

// traceparent returns the span in which the command was started, as the variable for it says; "": none.
func traceparent(s command.Streams) string { return s.Env("TRACEPARENT") }

// errorLog returns the log to standard error that a flag --log chooses; nil: none.
func errorLog(s command.Streams, level string) (*slog.Logger, error) {
	if level == "" {
		return nil, nil
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, badLevel(level)
	}
	return command.Logger(s.Err, l), nil
}

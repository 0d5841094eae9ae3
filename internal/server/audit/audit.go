// Package audit records who acts on a server: which token, from which address, when, and on what. It records no
// content. Each action is a line of the log and, where the server has a directory, of a bounded file there.
package audit

import (
	"context"
	"io"
	"log/slog"

	"github.com/ridethrough/ridethrough/internal/operation/logging"
)

// FileBound is the size in bytes beyond which a file is moved to the name with ".1", over the one before.
const FileBound = 4 << 20

// Log is where actions are recorded. Its methods may be called concurrently.
type Log struct {
	log  *slog.Logger
	file *logging.Log // nil: none
}

// New returns a log that goes to another one only.
func New(log *slog.Logger) *Log { return &Log{log: log} }

// Open returns a log that goes to a file as well, in lines of JSON. [Log.Close] ends it. No request waits for the
// file: if the disk is slow or full, lines are dropped and their number is a line.
func Open(path string, log *slog.Logger) *Log {
	format := func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) }
	file := &logging.File{Path: path, Bound: FileBound, Failed: func(err error) {
		log.Error("write the audit file failed; it is tried again, and its lines wait", "error", err.Error())
	}}
	return &Log{log: log, file: logging.New(file, format)}
}

// Close writes the last lines.
func (l *Log) Close() {
	if l.file != nil {
		l.file.Close()
	}
}

// Act records an action. The details are names and values.
func (l *Log) Act(who Actor, action string, details ...any) {
	all := append([]any{"token", who.Token, "from", who.From, "action", action}, details...)
	l.log.Info("audit", all...)
	if l.file != nil {
		l.file.Info("audit", all...)
	}
}

// Actor is who acts.
type Actor struct {
	Token string // its name; "": none is needed
	From  string // the address
}

// Action is an action of a request in progress.
type Action struct {
	log     *Log
	who     Actor
	details []any
}

// key is the key of an action in a context.
type key struct{}

// With returns a context of an actor's request, for [Note] and [Record].
func (l *Log) With(ctx context.Context, who Actor) (context.Context, *Action) {
	a := &Action{log: l, who: who}
	return context.WithValue(ctx, key{}, a), a
}

// Done records the action.
func (a *Action) Done(action string, status int) {
	a.log.Act(a.who, action, append(a.details, "status", status)...)
}

// Note adds a detail to the action of a request.
func Note(ctx context.Context, name string, value any) {
	if a, ok := ctx.Value(key{}).(*Action); ok {
		a.details = append(a.details, name, value)
	}
}

// Record records another action of a request that carries several, such as a WebSocket.
func Record(ctx context.Context, action string, details ...any) {
	if a, ok := ctx.Value(key{}).(*Action); ok {
		a.log.Act(a.who, action, details...)
	}
}

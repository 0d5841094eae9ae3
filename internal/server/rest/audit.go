package rest

import (
	"context"
	"io"
	"log/slog"

	"github.com/ridethrough/ridethrough/internal/operation/logging"
)

// FileBound is the size in bytes beyond which a file is renamed to its name with ".1", replacing the previous one.
const FileBound = 4 << 20

// AuditLog records actions. Its methods may be called concurrently.
type AuditLog struct {
	log  *slog.Logger
	file *logging.Log // nil: none
}

// NewAudit returns an audit log that writes to another log only.
func NewAudit(log *slog.Logger) *AuditLog { return &AuditLog{log: log} }

// OpenAudit returns an audit log that also writes to a file, in lines of JSON. [AuditLog.Close] ends it. No request
// waits for the file: if the disk is slow or full, lines are dropped and a line has their number.
func OpenAudit(path string, log *slog.Logger) *AuditLog {
	format := func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) }
	file := &logging.File{Path: path, Bound: FileBound, Failed: func(err error) {
		log.Error("write the audit file failed; it is tried again, and its lines wait", "error", err.Error())
	}}
	return &AuditLog{log: log, file: logging.New(file, format)}
}

// Close writes the last lines.
func (l *AuditLog) Close() {
	if l.file != nil {
		l.file.Close()
	}
}

// Act records an action. The details are names and values.
func (l *AuditLog) Act(who Actor, action string, details ...any) {
	all := append([]any{"token", who.Token, "from", who.From, "action", action}, details...)
	l.log.Info("audit", all...)
	if l.file != nil {
		l.file.Info("audit", all...)
	}
}

// Actor is the sender of a request.
type Actor struct {
	Token string // its name; "": no token is needed
	From  string // the address
}

// Action is an action of a request in progress.
type Action struct {
	log     *AuditLog
	who     Actor
	details []any
}

type key struct{}

// With returns a context of an actor's request, for [Note] and [Record].
func (l *AuditLog) With(ctx context.Context, who Actor) (context.Context, *Action) {
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

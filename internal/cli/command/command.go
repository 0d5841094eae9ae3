// Package command has what every command of the command line shares: its streams, its exit codes, its log
// and its screen.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/ridethrough/ridethrough/internal/operation/logging"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// Exit codes, from sysexits.h where it has one.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitNoGateway = 3   // no gateway runs, as init scripts and systemctl say it of a service
	ExitExhausted = 75  // EX_TEMPFAIL: the provider stayed down, or the account is spent
	ExitNoAuth    = 77  // EX_NOPERM: missing or rejected credentials
	ExitConfig    = 78  // EX_CONFIG: a mistake in the configuration or the environment
	ExitSignal    = 128 // plus the signal's number
)

// Streams are a command's input, outputs and environment.
type Streams struct {
	In       io.Reader // nil: empty
	Out, Err io.Writer
	Env      func(string) string // nil: os.Getenv
}

// StateFile returns the path of a file in the user's state directory, or "" without a home directory.
func (s Streams) StateFile(name string) string {
	home := s.Env("XDG_STATE_HOME")
	if !filepath.IsAbs(home) {
		home = filepath.Join(s.Env("HOME"), ".local", "state")
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, "ridethrough", name)
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Text returns a writer of foreign text to w. On a terminal it replaces or drops characters that are not printable;
// elsewhere they stay.
func Text(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return printable.NewTextWriter(w)
	}
	return w
}

// JSON returns a writer of JSON to w. On a terminal it escapes characters that are not printable; elsewhere they
// stay.
func JSON(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return printable.NewJSONWriter(w)
	}
	return w
}

// Error is an error with the exit code of its command. Every other error is a usage error.
type Error struct {
	Err  error
	Code int
}

// Error returns the text of Err.
func (e Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its exit code.
func (e Error) Unwrap() error { return e.Err }

// WithCode returns err with an exit code.
func WithCode(err error, code int) error { return Error{err, code} }

// Failed returns err with [ExitFailed], or with the signal's exit code if a signal has ended the command. It keeps
// nil, and the code of a configuration error.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[Error](err); ok && e.Code == ExitConfig {
		return err
	}
	if i, ok := errors.AsType[Interrupted](err); ok {
		return Error{err, ExitSignal + int(i.Signal)}
	}
	return Error{err, ExitFailed}
}

// Background runs a function on its own goroutine. stop ends its context and waits for it.
func Background(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() { cancel(); running.Wait() }
}

// Every calls do at an interval, on its own goroutine, until stop is called or ctx ends.
func Every(ctx context.Context, interval time.Duration, do func()) (stop func()) {
	return Background(ctx, func(ctx context.Context) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				do()
			}
		}
	})
}

// Misconfigured returns an error about an environment variable, with [ExitConfig].
func Misconfigured(variable string, err error) error {
	return Error{fmt.Errorf("%s: %w", variable, err), ExitConfig}
}

// Interrupted is the cause of a context that a signal has canceled.
type Interrupted struct{ Signal syscall.Signal }

// Error returns the name of the signal.
func (i Interrupted) Error() string { return i.Signal.String() }

// Reported is an error that the command has shown already.
type Reported struct{ Message string }

// Error returns the message that was shown.
func (r Reported) Error() string { return r.Message }

// Outcome returns the exit code of an error, and the message that was not shown yet, or "".
func Outcome(err error) (code int, message string) {
	if err == nil {
		return ExitOK, ""
	}
	code = ExitUsage
	if e, ok := errors.AsType[Error](err); ok {
		code = e.Code
	}
	if _, shown := errors.AsType[Reported](err); shown || code >= ExitSignal {
		return code, ""
	}
	return code, err.Error()
}

// Listen opens an address. Its errors name the flag that selects another address.
func Listen(addr, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use; stop the program that listens there or choose another address with %s", addr, flag)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with %s", addr, err, flag)
}

// IsLoopback reports whether a host is this machine's name or address for itself.
func IsLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Logger returns the log of a command for one user, which writes at once. A nil level is info.
func Logger(w io.Writer, level slog.Leveler) *slog.Logger { return slog.New(format(w, level)(w)) }

// ServerLog returns the log of a server, whose requests never wait for the log. A nil level is info.
func ServerLog(w io.Writer, level slog.Leveler) *logging.Log { return logging.New(w, format(w, level)) }

func format(w io.Writer, level slog.Leveler) func(io.Writer) slog.Handler {
	if IsTerminal(w) {
		return func(to io.Writer) slog.Handler {
			return slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: shortTime, Level: level})
		}
	}
	return func(to io.Writer) slog.Handler { return slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level}) }
}

func shortTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.String(slog.TimeKey, a.Value.Time().Format(time.TimeOnly))
	}
	return a
}

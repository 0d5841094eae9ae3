// Package command has what every command of the command line shares: its streams, its exit codes and its log.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/term"

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

// StateFile returns the path of a file in the user's state directory; "": there is no home directory.
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

// Text returns a writer of foreign text to w. On a terminal, characters that are not printable become pictures or
// are left out; elsewhere they stay.
func Text(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return printable.NewTextWriter(w)
	}
	return w
}

// JSON returns a writer of JSON to w. On a terminal, characters that are not printable are escaped; elsewhere they
// stay.
func JSON(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return printable.NewJSONWriter(w)
	}
	return w
}

// Error is an error with the exit code of its command. Every other error is one of usage.
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

// Failed returns err with [ExitFailed], or with the signal's exit code if a
// signal has ended the command. Nil stays nil.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	if i, ok := errors.AsType[Interrupted](err); ok {
		return Error{err, ExitSignal + int(i.Signal)}
	}
	return Error{err, ExitFailed}
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

// Outcome returns the exit code of an error, and the message that was not shown yet; "": there is none.
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

// List writes names as a list: "a, b and c".
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

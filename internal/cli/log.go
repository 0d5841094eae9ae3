package cli

import (
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// logger writes text for people at a terminal and JSON for programs.
func logger(w io.Writer) *slog.Logger {
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: shortTime}))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

// shortTime leaves the date out, which somebody at a terminal knows.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.String(slog.TimeKey, a.Value.Time().Format(time.TimeOnly))
	}
	return a
}

// isTerminal tells whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// report writes one line for each transition of a request. It says nothing of
// prompts, answers and credentials.
func report(log *slog.Logger, e gateway.Event) {
	n := e.Note
	log = log.With("request", e.Request, "upstream", e.Upstream, "model", e.Model)
	if n.Fault == nil {
		log.Info("provider recovered", "retries", n.Run.Tries, "waited", n.Waited.Round(time.Millisecond).String())
		return
	}
	log = log.With("kind", n.Fault.Kind.String(), "error", n.Fault.Error())
	switch n.Verdict.Stop {
	case "":
		log.Warn("provider retry", "attempt", n.Run.Tries, "delay", n.Verdict.Wait.String())
	case policy.Final:
		log.Info("request refused", "status", n.Fault.Status)
	case policy.Committed:
		log.Warn("answer broke off")
	default:
		log.Error("gave up", "retries", n.Run.Tries-1, "reason", string(n.Verdict.Stop), "do", advice(e))
	}
}

// advice says what somebody can do about a call that was given up.
func advice(e gateway.Event) string {
	if e.Note.Fault.Status == 0 {
		return "check that the provider can be reached, or give another address with --upstream " + e.Upstream + "=URL"
	}
	return "send the request again later, or choose a longer --policy"
}

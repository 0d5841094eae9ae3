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

// isTerminal tells whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// report writes one line for each transition of a request. It says nothing of
// prompts, answers and credentials.
func report(log *slog.Logger, e gateway.Event) {
	n := e.Note
	log = log.With("request", e.Call.ID, "upstream", e.Call.Upstream, "model", e.Call.Model)
	if n.Fault != nil {
		log = log.With("kind", n.Fault.Kind.String(), "error", n.Fault.Error())
	}
	waited := n.Waited.Round(time.Millisecond).String()
	switch e.Type {
	case gateway.Retrying:
		if n.Fault.Status == 0 && n.Run.Tries == 1 {
			log = log.With("do", advice(e))
		}
		log.Warn("provider retry", "attempt", n.Run.Tries, "delay", n.Verdict.Wait.String())
	case gateway.Recovered:
		log.Info("provider recovered", "retries", n.Retries(), "waited", waited)
	case gateway.Switched:
		log.Warn("another upstream", "from", e.From)
	case gateway.GaveUp:
		if n.Verdict.Stop == policy.Final && n.Fault.Status != 0 {
			log.Info("request refused", "status", n.Fault.Status)
			return
		}
		log.Error("gave up", "retries", n.Retries(), "reason", string(n.Verdict.Stop), "do", advice(e))
	case gateway.BrokeOff:
		log.Warn("answer broke off")
	case gateway.Left:
		if n.Fault != nil {
			log.Info("client left", "retries", n.Retries(), "waited", waited)
		}
	}
}

// advice says what somebody can do about a call that was given up.
func advice(e gateway.Event) string {
	f := e.Note.Fault
	switch wait := f.Hint(time.Now()); {
	case f.Status == 0:
		return "check that the provider can be reached, or give another address with --upstream " + e.Call.Upstream + "=URL"
	case e.Note.Verdict.Stop == policy.HintTooFar:
		return "send the request again in " + wait.Round(time.Second).String() + ", as the provider asks"
	}
	return "send the request again later, or choose a longer --policy"
}

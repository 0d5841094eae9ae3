package telemetry

import (
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/text"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// report logs one line for each transition of a request, and none for a request that is answered at once.
func report(log *slog.Logger, e *gateway.Event) {
	switch event := e.Event.(type) {
	case turn.Retry:
		retrying(about(log, &e.Call, event.Fault), &e.Call, event)
	case turn.Recovered:
		waited(about(log, &e.Call, nil), event.Retries, event.Waited).Info("provider recovered")
	case turn.Switched:
		about(log, &e.Call, nil).Warn("failover to another upstream or model", "from", event.From, "error", event.Why)
	case turn.Error:
		failure(log, e, event)
	case turn.Sealed:
		if isTurn(&e.Call) {
			log = waited(about(log, &e.Call, nil), event.RetryCount, event.TotalRetryDelay)
			log.Debug("turn sealed", "status", string(event.Status), "took", event.Duration.Round(time.Millisecond).String())
		} else if e.Note != "" {
			about(log, &e.Call, nil).Warn("answer is less than it looks", "note", string(e.Note), "why", e.Note.Words())
		}
	case nil:
		progress(log, e)
	}
}

func progress(log *slog.Logger, e *gateway.Event) {
	switch {
	case e.Joined != 0:
		about(log, &e.Call, nil).Info("joined an identical request in progress", "joined", e.Joined)
	case e.Resent:
		about(log, &e.Call, nil).Info("sent again at once, since a kept connection was closed")
	case e.Detached:
		about(log, &e.Call, nil).Info("client left, answer is read on")
	case e.Queued != nil:
		about(log, &e.Call, nil).Info("waits for room below a limit of the upstream", "why", e.Queued.String())
	case e.Crossed != nil:
		crossed(log, e)
	case e.Completed.Unjoined:
		about(log, &e.Call, nil).Warn("answer broke off, and what came then did not continue its text")
	case e.Completed.Again != 0:
		about(log, &e.Call, nil).Info("completed an answer that had broken off", "again", e.Completed.Again, "discardedTokens", e.Completed.Discarded, "text", e.Completed.Text)
	case e.Unshared != nil:
		unshared(about(log, &e.Call, nil), e.Unshared)
	case e.Replayed != 0:
		about(log, &e.Call, nil).Info("given the answer that an identical request had left", "replayed", e.Replayed)
	}
}

// unshared logs that an answer for a client that has left is not available to the whole fleet.
func unshared(log *slog.Logger, u *gateway.Unshared) {
	if u.Err != nil {
		log = log.With("error", u.Err.Error())
	}
	if u.Replica == "" {
		log.Warn("answer for a client that has left is at this gateway only")
		return
	}
	log.Warn("sent again, since the answer that an identical request had left is at another gateway", "replica", u.Replica)
}

func crossed(log *slog.Logger, e *gateway.Event) {
	l := e.Crossed.Limit
	log = log.With("upstream", e.Crossed.Upstream, "limit", l.Name, "used", strconv.FormatFloat(100*l.Used, 'f', 0, 64)+"%")
	if e.Crossed.Model != "" {
		log = log.With("model", e.Crossed.Model)
	}
	if !l.Reset.IsZero() {
		log = log.With("reset", l.Reset.Sub(e.At).Round(time.Second).String())
	}
	log.Info("limit of the upstream is nearly used up")
}

func about(log *slog.Logger, c *gateway.Call, f *fault.Error) *slog.Logger {
	if isTurn(c) {
		log = log.With("face", c.Face, "turn", c.Turn, "upstream", c.Upstream, "model", c.Model)
	} else {
		log = log.With("request", c.ID, "upstream", c.Upstream, "model", c.Model)
	}
	if c.Session != "" {
		log = log.With(sessionName(c), c.Session)
	}
	if f != nil {
		log = log.With("kind", f.Kind.String(), "error", f.Redacted())
	}
	return log
}

// sessionName is the log's name of a call's conversation: a client's session, or one that is stored here.
func sessionName(c *gateway.Call) string {
	if isTurn(c) {
		return "conversation"
	}
	return "session"
}

func waited(log *slog.Logger, retries int, waited time.Duration) *slog.Logger {
	return log.With("retries", retries, "waited", text.Exact(waited))
}

// retrying logs a retry. If the first try got no answer it adds advice, because the address may be wrong.
func retrying(log *slog.Logger, c *gateway.Call, r turn.Retry) {
	log = log.With("attempt", r.Run.Tries, "delay", r.Verdict.Wait.Round(time.Millisecond).String())
	if isTurn(c) && r.Fault.Code == turn.WorkerFailed {
		log.Warn("worker failed, another takes the turn up")
		return
	}
	if r.Fault.Status == 0 && r.Run.Tries == 1 {
		log = log.With("do", unanswered(c, r.Fault))
	}
	if opens := r.Fault.OpensAgain(time.Now()); opens != "" {
		log.Warn("usage window is spent", "window", opens)
		return
	}
	log.Warn("provider retry")
}

// failure logs that a request or an answer has failed. A refused request is no error of the gateway.
func failure(log *slog.Logger, e *gateway.Event, failed turn.Error) {
	if failed.Left() {
		left(log, &e.Call, failed)
		return
	}
	log = about(log, &e.Call, failed.Fault)
	switch stop := failed.Stop; {
	case stop == "" && isTurn(&e.Call): // not for a provider
		log.Error("turn failed")
	case stop == "": // the gateway is closed
	case stop == policy.Committed:
		log.Warn("answer broke off")
	case stop == policy.GivenUp:
		waited(log, failed.Retries, failed.Waited).Warn("given up by command")
	case stop == policy.Final && failed.Fault.Status != 0:
		log.Info("request refused", "status", failed.Fault.Status)
	default:
		if c := &e.Call; c.Side != "" {
			waited(log, failed.Retries, failed.Waited).Warn("gave up", "reason", string(stop), "for", c.Side, "do", "nothing: the agent goes on without this answer")
			return
		}
		waited(log, failed.Retries, failed.Waited).Error("gave up", "reason", string(stop), "do", advice(e, failed))
	}
}

// left logs that the client has left, with the fault for which it had waited. A client that leaves before any fault
// is not worth a line.
func left(log *slog.Logger, c *gateway.Call, failed turn.Error) {
	last, _ := errors.AsType[*fault.Error](failed.Fault.Err)
	if last != nil || failed.Retries > 0 {
		log = waited(about(log, c, last), failed.Retries, failed.Waited)
		if isTurn(c) {
			log.Info("turn stopped")
			return
		}
		log.Info("client left")
	}
}

// advice returns what the operator or the client can do about a failing call.
func advice(e *gateway.Event, failed turn.Error) string {
	switch wait := failed.Fault.RetryAfter(e.At); {
	case failed.Fault.Window:
		return "the usage window " + failed.Fault.OpensAgain(e.At) + "; a longer quota.max or more quota.windows wait for it"
	case failed.Fault.Status == 0:
		return unanswered(&e.Call, failed.Fault)
	case failed.Stop == policy.RetryAfterTooLong:
		return "send the request again in " + text.Duration(wait.Round(time.Second)) + ", as the provider asks"
	}
	return "send the request again later, or choose a longer --policy"
}

func unanswered(c *gateway.Call, f *fault.Error) string {
	if isTurn(c) {
		return "check that the provider is reachable, or set another base URL for it"
	}
	if f.Kind == fault.Timeout { // it has taken the request
		return "if the model usually takes longer, set limits.first-byte of the upstream " + c.Upstream + ", or after of its fallback"
	}
	return "check that the provider is reachable, or set another address with --upstream " + c.Upstream + "=URL"
}

package telemetry

import (
	"log/slog"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// report logs one line for each transition of a request, and none for a request that is answered at once.
func report(log *slog.Logger, e gateway.Event) {
	switch e.Type {
	case gateway.Retrying:
		retrying(about(log, e), e)
	case gateway.Recovered:
		waited(about(log, e), e).Info("provider recovered")
	case gateway.Switched:
		about(log, e).Warn("failover to another upstream", "from", e.From)
	case gateway.Joined:
		about(log, e).Info("joined an identical request in progress")
	case gateway.BrokeOff:
		about(log, e).Warn("answer broke off")
	case gateway.GaveUp:
		gaveUp(about(log, e), e)
	case gateway.Left:
		if e.Wait.Run.Tries > 0 {
			waited(about(log, e), e).Info("client left")
		}
	}
}

// about adds the request and its fault.
func about(log *slog.Logger, e gateway.Event) *slog.Logger {
	log = log.With("request", e.Call.ID, "upstream", e.Call.Upstream, "model", e.Call.Model)
	if e.Call.Session != "" {
		log = log.With("session", e.Call.Session)
	}
	if f := e.Wait.Fault; f != nil {
		log = log.With("kind", f.Kind.String(), "error", f.Redacted())
	}
	return log
}

// waited adds the retries and the waited time.
func waited(log *slog.Logger, e gateway.Event) *slog.Logger {
	return log.With("retries", e.Wait.Retries(), "waited", e.Wait.Waited.Round(time.Millisecond).String())
}

// retrying logs a retry. If the first try got no answer it adds advice, because the address may be wrong.
func retrying(log *slog.Logger, e gateway.Event) {
	n := e.Wait
	log = log.With("attempt", n.Run.Tries, "delay", n.Verdict.Wait.Round(time.Millisecond).String())
	if n.Fault.Status == 0 && n.Run.Tries == 1 {
		log = log.With("do", advice(e))
	}
	log.Warn("provider retry")
}

// gaveUp logs that there is no further try. A refused request is no error of the gateway.
func gaveUp(log *slog.Logger, e gateway.Event) {
	n := e.Wait
	if n.Verdict.Stop == policy.Final && n.Fault.Status != 0 {
		log.Info("request refused", "status", n.Fault.Status)
		return
	}
	if n.Verdict.Stop == policy.GivenUp {
		waited(log, e).Warn("given up by the operator")
		return
	}
	waited(log, e).Error("gave up", "reason", string(n.Verdict.Stop), "do", advice(e))
}

// advice returns what the operator or the client can do about a failing call.
func advice(e gateway.Event) string {
	f := e.Wait.Fault
	switch wait := f.RetryAfter(e.At); {
	case f.Status == 0:
		return "check that the provider is reachable, or set another address with --upstream " + e.Call.Upstream + "=URL"
	case e.Wait.Verdict.Stop == policy.RetryAfterTooLong:
		return "send the request again in " + wait.Round(time.Second).String() + ", as the provider asks"
	}
	return "send the request again later, or choose a longer --policy"
}

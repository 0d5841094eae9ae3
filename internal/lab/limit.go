package lab

import (
	"net/http"
	"strconv"
	"time"

	"github.com/ridethrough/ridethrough/internal/operation/config"
)

type limit struct {
	config.Outage
	sim    *simulation
	used   float64       // tokens of the current period; of a bucket, those that are not filled up again
	at     time.Duration // of a bucket: when used was counted
	period int64         // the number of the current period, of other limits
	all    float64       // tokens that were used in all
}

// length returns the time after which all tokens are available again.
func (l *limit) length() time.Duration {
	if l.Kind == config.Window {
		return l.Window
	}
	return time.Minute
}

// start returns when the first period begins. Minutes are aligned to the clock.
func (l *limit) start() time.Duration {
	if l.Kind == config.Window {
		return l.From
	}
	return 0
}

func (l *limit) update(now time.Duration) {
	if l.Kind == config.Bucket {
		l.used = max(0, l.used-(now-l.at).Seconds()*l.perSecond())
		l.at = now
		return
	}
	if period := int64((now - l.start()) / l.length()); period != l.period {
		l.period, l.used = period, 0
	}
}

func (l *limit) perSecond() float64 { return float64(l.Tokens) / time.Minute.Seconds() }

// take uses tokens, and reports whether there were enough.
func (l *limit) take(now time.Duration, tokens float64) bool {
	l.update(now)
	if l.used+tokens > float64(l.Tokens) {
		return false
	}
	l.used += tokens
	l.all += tokens
	return true
}

func (l *limit) reset(now time.Duration) time.Duration {
	if l.Kind == config.Bucket {
		return now + time.Duration(l.used/l.perSecond()*float64(time.Second))
	}
	return l.start() + time.Duration(l.period+1)*l.length()
}

// opens returns when a refused call would be accepted, if no other came first.
func (l *limit) opens(now time.Duration, tokens float64) time.Duration {
	if l.Kind == config.Bucket {
		short := l.used + tokens - float64(l.Tokens)
		return now + time.Duration(short/l.perSecond()*float64(time.Second))
	}
	return l.reset(now)
}

// state writes the limit into the headers of an answer: a window as Claude's subscriptions do, a bucket as
// Anthropic, a minute as OpenAI.
func (l *limit) state(h http.Header, now time.Duration, refused bool) {
	l.update(now)
	left := strconv.Itoa(max(0, int(float64(l.Tokens)-l.used)))
	reset := l.sim.start.Add(l.reset(now))
	switch l.Kind {
	case config.Window:
		status := "allowed"
		if refused {
			status = "rejected"
		}
		name, at := "Anthropic-Ratelimit-Unified-", strconv.FormatInt(reset.Unix(), 10)
		of := name + windowName(l.Window)
		h[name+"Status"], h[name+"Reset"] = []string{status}, []string{at}
		h[of+"-Status"], h[of+"-Reset"] = []string{status}, []string{at}
		h[of+"-Utilization"] = []string{strconv.FormatFloat(min(1, l.used/float64(l.Tokens)), 'f', 3, 64)}
	case config.Bucket:
		const name = "Anthropic-Ratelimit-Input-Tokens-"
		h[name+"Limit"], h[name+"Remaining"] = []string{strconv.Itoa(l.Tokens)}, []string{left}
		h[name+"Reset"] = []string{reset.Format(time.RFC3339)}
	default:
		const name = "X-Ratelimit-"
		h[name+"Limit-Tokens"], h[name+"Remaining-Tokens"] = []string{strconv.Itoa(l.Tokens)}, []string{left}
		h[name+"Reset-Tokens"] = []string{(l.reset(now) - now + time.Millisecond - 1).Truncate(time.Millisecond).String()}
	}
}

// windowName names a window in a header: Claude has windows of five hours and of seven days.
func windowName(d time.Duration) string {
	if d > 24*time.Hour {
		return "7d"
	}
	return "5h"
}

// allowed returns how many tokens a limit per minute allows in all. A bucket starts full.
func (l *limit) allowed() float64 {
	minutes := l.For.Minutes()
	if l.Kind == config.Bucket {
		minutes++
	}
	return float64(l.Tokens) * minutes
}

package notify_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
	"github.com/ridethrough/ridethrough/retry"
)

var busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded, said of a prompt"}

// world is a history with a follower in a bubble.
type world struct {
	*history.History
	t     *testing.T
	start time.Time
	said  []string
	all   []notify.Notice
	page  string // of the provider's status; "": it cannot be read
	reads int

	outages atomic.Pointer[[]breaker.Outage] // of the breaker; nil: none
}

// follow returns a world whose follower has settings.
func follow(t *testing.T, s notify.Settings) *world {
	w := &world{History: history.Open("", slog.New(slog.DiscardHandler)), t: t, start: time.Now()}
	w.run(s)
	return w
}

// config returns the configuration of a follower.
func (w *world) config() notify.Config {
	return notify.Config{
		Incidents: w.Incidents, Upstreams: w.upstreams,
		Send: w.hear, Host: "host", Log: slog.New(slog.DiscardHandler), Transport: w,
	}
}

// upstreams returns the upstream with the outages of its breaker.
func (w *world) upstreams() []notify.Upstream {
	u := notify.Upstream{Name: "work"}
	if open := w.outages.Load(); open != nil {
		u.Outages = *open
	}
	return []notify.Upstream{u}
}

// run runs a follower until the test or stop ends it.
func (w *world) run(s notify.Settings) (stop func()) {
	f := notify.NewFollower(w.config())
	f.Use(s)
	ctx, cancel := context.WithCancel(w.t.Context())
	go f.Run(ctx)
	time.Sleep(time.Second) // the follower never looks in the moment of a try
	return cancel
}

// hear notes a notice with its minute.
func (w *world) hear(n notify.Notice) {
	w.said = append(w.said, fmt.Sprintf("%.0f %s", time.Since(w.start).Minutes(), n.Title()))
	w.all = append(w.all, n)
}

// RoundTrip is the status page's server.
func (w *world) RoundTrip(*http.Request) (*http.Response, error) {
	w.reads++
	if w.page == "" {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(w.page))}, nil
}

// minutes plays tries of the upstream work, one in a minute: f failed, o answered, . none.
func (w *world) minutes(tries string) {
	for _, letter := range tries {
		var f *fault.Error
		if letter == 'f' {
			f = busy
		}
		if letter != '.' {
			now := time.Now()
			w.Watch(&gateway.Event{At: now, Call: gateway.Call{ID: 1, Upstream: "work", Model: "m", Stream: true}, Try: retry.Try{N: 1, Start: now, Fault: f}})
		}
		time.Sleep(time.Minute)
	}
	synctest.Wait()
}

func TestFollower_TellsOnceOfAnIncident(t *testing.T) {
	hour := strings.Repeat("f", 60)
	for _, c := range []struct {
		name, tries string
		want        []string
	}{
		{"nothing fails", "oooooo", nil},
		{"a blip", "offo....", nil},
		{"an outage that is over before it is told", "offfo.........", nil},
		{"an outage", "ffffffo.......", []string{"5 work fails", "7 work is back"}},
		{"one that flaps", "ffffffoo" + "fff" + "oo" + "fff" + "oo........", []string{"5 work fails", "7 work is back", "10 work still fails", "21 work is back"}},
		{"two", "ffffffo......." + "ffffffo.......", []string{"5 work fails", "7 work is back", "19 work fails", "21 work is back"}},
		{"a long one", "f" + hour + hour + "o.....", []string{"5 work fails", "65 work still fails", "122 work is back"}},
		{"one that none asks about any longer", "ffffff" + strings.Repeat(".", 60), []string{"5 work fails", "50 work gets no more requests"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := follow(t, notify.Settings{After: 5 * time.Minute, Remind: time.Hour})
			w.minutes(c.tries)
			if diff := cmp.Diff(c.want, w.said); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.name, c.tries, diff)
			}
			ids := map[string]bool{}
			for _, n := range w.all {
				ids[n.ID] = true
				if strings.Contains(n.Text(), "prompt") {
					t.Errorf("%s: a notice has the provider's words: %s", c.name, n.Text())
				}
			}
			if c.name == "one that flaps" && len(ids) != 1 {
				t.Errorf("%s: got %d ids, want 1", c.name, len(ids))
			}
		})
	}
}

// Whatever an upstream does, a night of it makes few notices.
func TestFollower_AnEveningOfFlapsIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t, notify.Settings{After: time.Minute, Remind: time.Hour})
		w.minutes(strings.Repeat("fffoo", 12*12)) // twelve hours
		if n := len(w.said); n < 2 || n > 3+12 {
			t.Errorf("notices of twelve hours: got %d, want one when it begins, few while it lasts: %q", n, w.said)
		}
	})
}

func TestFollower_AnOutageThatWasOpenAtTheStartIsNotBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{History: history.Open("", slog.New(slog.DiscardHandler)), t: t, start: time.Now()}
		stop := w.run(notify.Settings{After: time.Minute})
		w.minutes("fffff")
		stop()
		w.run(notify.Settings{After: time.Minute})
		w.minutes("fffo....")
		if diff := cmp.Diff([]string{"2 work fails", "9 work is back"}, w.said); diff != "" {
			t.Errorf("notices of two processes (-want +got):\n%s", diff)
		}
	})
}

// An outage may be told as soon as it is an incident, and one that began before the program did may be due later.
func TestFollower_TellsOfAnOutageThatThisProcessHasSeenDue(t *testing.T) {
	for _, c := range []struct {
		before string
		after  time.Duration
		want   []string
	}{
		{"", time.Second, []string{"2 work fails"}},
		{"ff", 6 * time.Minute, []string{"6 work fails"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{History: history.Open("", slog.New(slog.DiscardHandler)), t: t, start: time.Now()}
			w.minutes(c.before)
			w.run(notify.Settings{After: c.after})
			w.minutes("ffffffff")
			if diff := cmp.Diff(c.want, w.said); diff != "" {
				t.Errorf("notices with %d failures before the start, after %v (-want +got):\n%s", len(c.before), c.after, diff)
			}
		})
	}
}

func TestFollower_ReadsTheStatusPageWhileAnUpstreamFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{History: history.Open("", slog.New(slog.DiscardHandler)), t: t, start: time.Now(), page: `{"status":{"indicator":"none","description":"All Systems Operational"}}`}
		f := notify.NewFollower(w.config())
		f.Use(notify.Settings{After: time.Minute, Feeds: map[string]string{"work": "http://status.example/summary.json"}})
		go f.Run(t.Context())
		time.Sleep(time.Second)
		check := func(when string, says string, least, most int) {
			t.Helper()
			if got := f.Vendor("work"); got.Says != says {
				t.Errorf("%s: the page says %q, want %q", when, got.Says, says)
			}
			if w.reads < least || w.reads > most {
				t.Errorf("%s: read %d times, want %d to %d", when, w.reads, least, most)
			}
		}
		w.minutes("oooooooooo")
		check("while all is well", "", 0, 0)
		w.minutes("ffffffffff")
		check("in an outage of ten minutes", "All Systems Operational", 4, 5)
		if got := w.all[0].Text(); !strings.Contains(got, "Their status page says: All Systems Operational.") {
			t.Errorf("the first notice: got %q, want what the page says", got)
		}
		w.page = ""
		w.minutes("fff")
		check("when it cannot be read", "", 5, 7)
		w.minutes("o..")
		reads := w.reads
		w.minutes("..........")
		check("after it", "", reads, reads)
	})
}

func TestFollower_ReadsNoPageThatIsNotSwitchedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t, notify.Settings{After: time.Minute, Feeds: map[string]string{"other": "http://status.example"}})
		w.minutes("ffffffffff")
		if w.reads != 0 {
			t.Errorf("readings: got %d, want 0", w.reads)
		}
	})
}

// window returns an outage of a breaker by a usage window that opens at a minute.
func (w *world) window(opens int, credential string) breaker.Outage {
	return breaker.Outage{
		Level: "credential", Scope: breaker.Scope{Credential: credential}, Since: time.Now(), Waiting: 3,
		Fault: &fault.Error{Kind: fault.Quota, Status: 429, Message: "said of a prompt", Window: true, ResetAt: w.start.Add(time.Duration(opens) * time.Minute)},
	}
}

func TestFollower_TellsOnceOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := follow(t, notify.Settings{After: time.Minute})
		w.outages.Store(&[]breaker.Outage{w.window(3, "a")})
		w.minutes(".") // one that opens soon
		w.outages.Store(&[]breaker.Outage{w.window(90, "a"), {Level: "host", Fault: busy}})
		w.minutes("..........")
		w.outages.Store(&[]breaker.Outage{w.window(91, "a")}) // a probe was refused, which states another second
		w.minutes(strings.Repeat(".", 60))
		if diff := cmp.Diff([]string{"1 work: limit reached"}, w.said); diff != "" {
			t.Fatalf("while a window is used up (-want +got):\n%s", diff)
		}
		if got := w.all[0].Text(); !strings.HasPrefix(got, "Usage limit until ") || !strings.Contains(got, "in 1h29m. 3 calls are waiting.") || strings.Contains(got, "prompt") {
			t.Errorf("text: got %q, want when it opens and what waits, without the provider's words", got)
		}
		w.outages.Store(nil)
		w.minutes("..")
		w.outages.Store(&[]breaker.Outage{w.window(200, "a")})
		w.minutes(strings.Repeat(".", 240)) // none asks for it when it opens
		if diff := cmp.Diff([]string{"1 work: limit reached", "71 work: limit reset", "73 work: limit reached", "200 work: limit reset"}, w.said); diff != "" {
			t.Errorf("two windows (-want +got):\n%s", diff)
		}
	})
}

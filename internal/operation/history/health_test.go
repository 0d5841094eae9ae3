package history_test

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/operation/history"
)

var refused = &fault.Error{Kind: fault.Unavailable, Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}

// condition returns the condition of the upstream, without a breaker.
func (w *world) condition() history.Condition {
	return w.Health("work", breaker.State{}, time.Now()).Condition
}

// play reports one try a minute: f failed, o answered, F and O of another model, d and D without a connection, . no
// try.
func (w *world) play(tries string) {
	for i, letter := range tries {
		model := "small"
		if letter >= 'a' {
			model = "large"
		}
		switch letter | 0x20 {
		case 'f':
			w.try(int64(i), model, 0, busy)
		case 'd':
			w.try(int64(i), model, 0, refused)
		case 'o':
			w.try(int64(i), model, 0, nil)
		}
		time.Sleep(time.Minute)
	}
}

func TestHealth_IsThatOfEachModel(t *testing.T) {
	for _, c := range []struct{ tries, want string }{
		{"", "up"},
		{"f", "down large"}, // no answer is known
		{"of", "up"},
		{"off", "down large"},
		{"Off", "degraded large"},
		{"fffOOOOOO", "degraded large"},
		{"fOfOfOOOO", "degraded large"},
		{"fffOOOOOOo", "up"},
		{"ffFF", "down large,small"},
		{"ffFFO", "degraded large"},
		{"OffF", "down large"}, // the last try of the other model failed
		{"fffOOO" + strings.Repeat(".O", 3), "degraded large"}, // nothing is known of it for 10 minutes
		{"fffOOO" + strings.Repeat(".O", 4), "up"},             // others are answered, and none asks for it
		{"fff" + strings.Repeat(".", 40), "down large"},        // none asks for anything
		{"fff" + strings.Repeat(".", 46), "up"},                // not known any longer
		{"O" + strings.Repeat(".", 46) + "fff", "down large"},  // the answer is too old
		{"OOOddd", "down large"},                               // all models share the connection
		{"dddO", "up"},                                         // there is a connection again
		{"dddfO", "degraded large"},                            // there was one, and the model failed
		{"dddDDDO", "up"},                                      // each of them
		{"fffO" + strings.Repeat("O", 5) + "fo", "up"},         // it answers again
		{"fff" + strings.Repeat("O........", 3) + "f", "up"},   // a single failure later
		{"fff" + strings.Repeat("O........", 3) + "ff", "degraded large"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			w.play(c.tries)
			h := w.Health("work", breaker.State{}, time.Now())
			if got := strings.TrimSpace(string(h.Condition) + " " + strings.Join(h.Failing, ",")); got != c.want {
				t.Errorf("health after %q: got %s, want %s", c.tries, got, c.want)
			}
		})
	}
}

// TestHealth_IncidentFollows is about what the incident says at the same time.
func TestHealth_IncidentFollows(t *testing.T) {
	for _, c := range []struct {
		tries   string
		partial bool
		want    string
	}{
		{"fffOOOOOO", true, "work 0 to open, 3 of 9 failed"},
		{"fOffOO", true, "work 0 to open, 3 of 5 failed"},
		{"Offf", false, "work 1 to open, 3 of 3 failed"},
		{"fffo", false, "work 0 to recovered 3, 3 of 4 failed"},
		{"fffFFFOo", true, "work 0 to recovered 7, 6 of 8 failed"},
		{"fffOOO" + strings.Repeat(".O", 4), true, "work 0 to unknown 2, 3 of 9 failed"},
		{"dddO", false, "work 0 to recovered 3, 3 of 4 failed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "")
			w.play(c.tries)
			partial := slices.ContainsFunc(w.Incidents(time.Now()), func(in history.Incident) bool { return in.Partial })
			if got := w.said(); got != c.want || partial != c.partial {
				t.Errorf("incident after %q: got %s, partial %t; want %s, %t", c.tries, got, partial, c.want, c.partial)
			}
			text := w.report()
			if got := strings.Contains(text, "; others were answered meanwhile\n"); got != c.partial {
				t.Errorf("report after %q:\n%s\nwant others named: %t", c.tries, text, c.partial)
			}
		})
	}
}

func TestHealth_CountsTheOutagesOfTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().Add(24 * time.Hour)
		large, ago := breaker.Scope{Model: "large"}, func(d time.Duration) time.Time { return now.Add(-d) }
		for _, c := range []struct {
			what   string
			outage breaker.Outage
			last   time.Time // the breaker's last answer
			want   string
			shown  int
		}{
			{"the host", breaker.Outage{Level: "host", Latest: ago(time.Minute)}, ago(time.Hour), "down ", 1},
			{"the host, for the calls that have left another model", breaker.Outage{Level: "host", Scope: large, Latest: ago(time.Hour)}, ago(0), "up ", 0},
			{"a model", breaker.Outage{Level: "model", Scope: large, Latest: ago(time.Minute)}, ago(time.Hour), "down large", 1},
			{"a model, others answer", breaker.Outage{Level: "model", Scope: large, Latest: ago(time.Minute)}, ago(0), "degraded large", 1},
			{"a credential, others answer", breaker.Outage{Level: "credential", Scope: large, Latest: ago(time.Minute)}, ago(0), "degraded large", 1},
			{"slow start", breaker.Outage{Level: "model", Scope: large, Recovering: true}, ago(0), "recovering ", 1},
			{"a model that is not asked for", breaker.Outage{Level: "model", Scope: large, Latest: ago(11 * time.Minute)}, ago(0), "up ", 0},
			{"a model that a call waits for", breaker.Outage{Level: "model", Scope: large, Latest: ago(11 * time.Minute), Waiting: 1}, ago(0), "degraded large", 1},
			{"a long cooldown", breaker.Outage{Level: "credential", Scope: large, Latest: ago(11 * time.Minute), Until: now.Add(time.Minute)}, ago(0), "degraded large", 1},
			{"all quiet", breaker.Outage{Level: "host", Latest: ago(46 * time.Minute)}, time.Time{}, "up ", 0},
		} {
			h := newWorld(t, "").Health("work", breaker.State{Outages: []breaker.Outage{c.outage}, LastSuccess: c.last}, now)
			if got := string(h.Condition) + " " + strings.Join(h.Failing, ","); got != c.want || len(h.Outages) != c.shown {
				t.Errorf("%s: got %s and %d outages, want %s and %d", c.what, got, len(h.Outages), c.want, c.shown)
			}
		}
		if h := (*history.History)(nil).Health("work", breaker.State{}, now); h.Condition != history.Up {
			t.Errorf("health without a history: got %+v, want it to be up", h)
		}
	})
}

func TestHealth_OutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "history.json")
		w := newWorld(t, path)
		w.play("OOOfff")
		w.keep()
		h := newWorld(t, path).Health("work", breaker.State{}, time.Now())
		if h.Condition != history.Degraded || !slices.Equal(h.Failing, []string{"large"}) {
			t.Errorf("health after a restart: got %+v, want it degraded by large", h)
		}
	})
}

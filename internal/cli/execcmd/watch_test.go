package execcmd

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/running"
	"github.com/ridethrough/ridethrough/internal/operation/notify"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// newScreen returns a screen with what it writes and tells.
func newScreen() (s *screen, out *bytes.Buffer, told *[]notify.Notice) {
	out, told = new(bytes.Buffer), new([]notify.Notice)
	return &screen{to: out, program: "claude", tell: func(n notify.Notice) { *told = append(*told, n) }}, out, told
}

func TestScreen_TitleCountsDownAndIsGivenBack(t *testing.T) {
	s, out, told := newScreen()
	s.show(nil, held{}, noon)
	if out.Len() > 0 {
		t.Errorf("while nothing waits: wrote %q, want nothing", out)
	}
	busy := map[int64]running.Wait{1: {ID: 1, Cause: "server overloaded", RemainingMs: 12_000, Heard: noon}}
	s.show(busy, held{}, noon)
	s.show(busy, held{}, noon.Add(2*time.Second))
	busy[2] = running.Wait{ID: 2, Cause: "rate limit", RemainingMs: 4_000, Heard: noon}
	s.show(busy, held{}, noon.Add(3*time.Second))
	s.show(nil, held{}, noon.Add(4*time.Second))
	s.show(nil, held{}, noon.Add(5*time.Second))
	want := "\x1b[22;2t\x1b]2;▲ server overloaded — retrying in 12s… · claude\a" +
		"\x1b]2;▲ server overloaded — retrying in 10s… · claude\a" +
		"\x1b]2;▲ rate limit — retrying in 1s… (2 calls) · claude\a\x1b[23;2t"
	if out.String() != want {
		t.Errorf("wrote %q, want %q", out, want)
	}
	if len(*told) > 0 {
		t.Errorf("told the desktop %v of an outage of 4 s, want nothing", *told)
	}
}

func TestScreen_DesktopIsToldOnceOfEach(t *testing.T) {
	s, out, told := newScreen()
	busy := map[int64]running.Wait{1: {ID: 1, Upstream: "anthropic", Cause: "server overloaded", RemainingMs: 600_000, Heard: noon}}
	for second := range 60 {
		s.show(busy, held{}, noon.Add(time.Duration(second)*time.Second))
	}
	s.show(nil, held{calls: 3, lost: 1}, noon.Add(time.Minute))
	spent := map[int64]running.Wait{2: {ID: 2, Upstream: "anthropic", Cause: "usage limit reached", OpensAt: noon.Add(3 * time.Hour)}}
	s.show(spent, held{calls: 3, lost: 1}, noon.Add(2*time.Minute))
	s.show(spent, held{calls: 3, lost: 1}, noon.Add(3*time.Minute))
	s.show(nil, held{calls: 4, lost: 1}, noon.Add(3*time.Hour))
	var events []string
	for _, n := range *told {
		events = append(events, fmt.Sprint(n.Event, " ", n.Lasted, " ", n.Held, " of ", n.Calls))
	}
	if got, want := strings.Join(events, ", "), "began 0s 0 of 1, ended 1m0s 2 of 3, limit-reached 0s 0 of 1, limit-reset 2h58m0s 1 of 1"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if !regexp.MustCompile(`usage limit reached — opens again at \d\d:\d\d`).MatchString(out.String()) {
		t.Errorf("titles %q, want when the window opens", out)
	}
}

// A user who leaves a call ends the wait, but neither the outage nor the window.
func TestScreen_DesktopIsNotToldThatAProviderIsBackAfterTheUserHasLeft(t *testing.T) {
	s, _, told := newScreen()
	busy := map[int64]running.Wait{1: {ID: 1, Upstream: "anthropic", Cause: "server overloaded", RemainingMs: 600_000, Heard: noon}}
	s.show(busy, held{}, noon)
	s.show(busy, held{}, noon.Add(patience))
	s.show(nil, held{calls: 1, lost: 1}, noon.Add(time.Minute))
	spent := map[int64]running.Wait{2: {ID: 2, Upstream: "anthropic", Cause: "usage limit reached", OpensAt: noon.Add(3 * time.Hour)}}
	s.show(spent, held{calls: 1, lost: 1}, noon.Add(2*time.Minute))
	s.show(nil, held{calls: 2, lost: 2}, noon.Add(3*time.Minute))
	var titles []string
	for _, n := range *told {
		titles = append(titles, n.Title())
	}
	if got, want := strings.Join(titles, ", "), "anthropic fails, anthropic gets no more requests, anthropic: limit reached"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

// TestWatch_CountsWhatWasHeld is about a gateway that closes its stream once.
func TestWatch_CountsWhatWasHeld(t *testing.T) {
	streams := 0
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Ridethrough-Token") != "t0ken" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("headers %v, want the token and the form of a stream", r.Header)
		}
		switch streams++; streams {
		case 1:
			fmt.Fprint(w, ": hello\n\nevent: snapshot\ndata: {\"waits\":[{\"id\":1,\"cause\":\"x\"},{\"id\":2,\"cause\":\"x\",\"retries\":4}]}\n\n")
		case 2: // 2 is over meanwhile
			fmt.Fprint(w, "event: snapshot\ndata: {\"waits\":[{\"id\":1}]}\n\nevent: wait\ndata: {\"id\":3}\n\nevent: gone\ndata: {\"wait\":3,\"how\":\"left\"}\n\n")
			fmt.Fprint(w, "event: wait\ndata: {\"id\":4,\"cause\":\"x\"}\n\nevent: gone\ndata: {\"wait\":4,\"how\":\"failed\",\"retries\":2}\n\n")
			fmt.Fprint(w, "event: wait\ndata: {\"id\":5,\"cause\":\"x\"}\n\nevent: gone\ndata: {\"wait\":5,\"how\":\"recovered\",\"retries\":3}\n\n")
			fmt.Fprint(w, "event: gone\ndata: {\"wait\":99}\n\nevent: wait\ndata: damaged\n\n")
			w.(http.Flusher).Flush()
			close(done)
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	watched := watch(t.Context(), gateway{Gateway: running.Gateway{URL: s.URL, Token: "t0ken"}}, nowhere{})
	<-done
	got, want := held{}, held{calls: 4, lost: 2, tries: 5 + 0 + 3 + 3}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		watched.mu.Lock()
		got = watched.held
		watched.mu.Unlock()
		if got.calls == want.calls {
			break
		}
	}
	if got != want {
		t.Errorf("held %+v, want %+v", got, want)
	}
	if got, want := watched.end(), "; 2 lost, at "+s.URL+", for this and other programs"; !strings.HasPrefix(got, "held 5 calls, ") || !strings.HasSuffix(got, want) {
		t.Errorf("end: got %q, want %q", got, want)
	}
}

// TestWatch_EndsWithHowTheLastCallHasEnded is about a call that its program leaves when it ends.
func TestWatch_EndsWithHowTheLastCallHasEnded(t *testing.T) {
	waiting, ending := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "event: snapshot\ndata: {\"waits\":[{\"id\":1,\"cause\":\"usage limit reached\",\"opensAt\":\"2027-01-01T00:00:00Z\"}]}\n\n")
		w.(http.Flusher).Flush()
		<-ending
		fmt.Fprint(w, "event: gone\ndata: {\"wait\":1,\"how\":\"left\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	shown, out, told := newScreen()
	shown.tell = func(n notify.Notice) { *told = append(*told, n); close(waiting) }
	watched := watch(t.Context(), gateway{Gateway: running.Gateway{URL: s.URL}, own: true}, shown)
	<-waiting
	close(ending)
	if got, want := watched.end(), "held 1 call, 1s; 1 lost"; got != want {
		t.Errorf("end: got %q, want %q", got, want)
	}
	if !strings.HasSuffix(out.String(), "\x1b[23;2t") || len(*told) != 1 {
		t.Errorf("wrote %q and told %v, want the program's title at the end, and the limit alone", out, *told)
	}
}

// TestWatch_CallsThatOutliveTheProgramAreLost is about a program that a CI system ends, whose child still asks.
func TestWatch_CallsThatOutliveTheProgramAreLost(t *testing.T) {
	for own, want := range map[bool]string{true: "; 1 lost", false: "; 0 lost, at "} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "event: snapshot\ndata: {\"waits\":[{\"id\":1,\"upstream\":\"openai\",\"cause\":\"server error\",\"retries\":2,\"remainingMs\":5000}]}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		waiting, out := make(chan struct{}), new(bytes.Buffer)
		watched := watch(t.Context(), gateway{Gateway: running.Gateway{URL: s.URL}, own: own}, &signalling{lines{to: out}, waiting})
		<-waiting
		if got := watched.end(); !strings.Contains(got, want) {
			t.Errorf("a gateway of its own %t: end: got %q, want it to contain %q", own, got, want)
		}
		lost := "s and 3 failed tries: openai: server error\n"
		if strings.HasSuffix(out.String(), lost) != own {
			t.Errorf("a gateway of its own %t: wrote %q; want %q at the end: %[1]t", own, out, lost)
		}
		s.Close()
	}
}

// signalling reports the first wait that it shows.
type signalling struct {
	lines
	shown chan struct{}
}

func (s *signalling) show(waits map[int64]running.Wait, over held, now time.Time) {
	if s.lines.show(waits, over, now); len(waits) > 0 && s.shown != nil {
		close(s.shown)
		s.shown = nil
	}
}

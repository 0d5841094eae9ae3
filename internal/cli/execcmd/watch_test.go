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
	s.show(nil, noon)
	if out.Len() > 0 {
		t.Errorf("while nothing waits: wrote %q, want nothing", out)
	}
	busy := map[int64]running.Wait{1: {ID: 1, Cause: "server overloaded", RemainingMs: 12_000, Heard: noon}}
	s.show(busy, noon)
	s.show(busy, noon.Add(2*time.Second))
	busy[2] = running.Wait{ID: 2, Cause: "rate limit", RemainingMs: 4_000, Heard: noon}
	s.show(busy, noon.Add(3*time.Second))
	s.show(nil, noon.Add(4*time.Second))
	s.show(nil, noon.Add(5*time.Second))
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
		s.show(busy, noon.Add(time.Duration(second)*time.Second))
	}
	s.show(nil, noon.Add(time.Minute))
	spent := map[int64]running.Wait{2: {ID: 2, Upstream: "anthropic", Cause: "usage limit reached", OpensAt: noon.Add(3 * time.Hour)}}
	s.show(spent, noon.Add(2*time.Minute))
	s.show(spent, noon.Add(3*time.Minute))
	s.show(nil, noon.Add(3*time.Hour))
	var events []string
	for _, n := range *told {
		events = append(events, fmt.Sprint(n.Event, " ", n.Lasted))
	}
	if got, want := strings.Join(events, ", "), "began 0s, ended 1m0s, limit-reached 0s, limit-reset 2h58m0s"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if !regexp.MustCompile(`usage limit reached — opens again at \d\d:\d\d`).MatchString(out.String()) {
		t.Errorf("titles %q, want when the window opens", out)
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
			fmt.Fprint(w, ": hello\n\nevent: snapshot\ndata: {\"waits\":[{\"id\":1,\"cause\":\"x\"},{\"id\":2}]}\n\n")
		case 2: // 2 is over meanwhile
			fmt.Fprint(w, "event: snapshot\ndata: {\"waits\":[{\"id\":1}]}\n\nevent: wait\ndata: {\"id\":3}\n\nevent: gone\ndata: {\"wait\":3}\n\n")
			fmt.Fprint(w, "event: gone\ndata: {\"wait\":99}\n\nevent: wait\ndata: damaged\n\n")
			w.(http.Flusher).Flush()
			close(done)
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	watched := watch(t.Context(), gateway{Gateway: running.Gateway{URL: s.URL, Token: "t0ken"}}, nil)
	<-done
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		watched.mu.Lock()
		held := watched.held
		watched.mu.Unlock()
		if held == 2 {
			break
		}
	}
	if got, want := watched.end(), "held 3 calls at "+s.URL+", for this and other programs, 1s"; !strings.HasPrefix(got, want[:len(want)-2]) {
		t.Errorf("end: got %q, want %q", got, want)
	}
}

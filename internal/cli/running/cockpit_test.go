package running_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/cli/running"
)

// screen is a cockpit over a gateway whose answers and requests are here.
type screen struct {
	t     *testing.T
	model tea.Model
	waits string // as JSON
	asked []string
}

func newScreen(t *testing.T, width, height int, waits string) *screen {
	s := &screen{t: t, waits: waits}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			s.asked = append(s.asked, strings.TrimPrefix(r.URL.Path, "/-/")+" "+string(body))
			if strings.HasSuffix(r.URL.Path, "/9") {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprint(w, `{"detail":"request 9 has no fallback"}`)
				return
			}
			fmt.Fprint(w, `{}`)
		case r.URL.Path == "/-/upstreams":
			fmt.Fprint(w, `{"upstreams":[{"name":"anthropic","state":"outage","reason":"Server overloaded"}]}`)
		default:
			fmt.Fprintf(w, `{"waits":[%s]}`, s.waits)
		}
	}))
	t.Cleanup(server.Close)
	s.model = running.Cockpit(t.Context(), running.Gateway{URL: server.URL}, width, height)
	s.load()
	return s
}

// load gets the list, without the tick that would ask again.
func (s *screen) load() { s.model.Update(s.model.Init()()) }

// press presses keys, and waits for what each does.
func (s *screen) press(keys ...string) {
	for _, key := range keys {
		press := tea.KeyPressMsg{Text: key, Code: []rune(key)[0]}
		if code, ok := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace}[key]; ok {
			press = tea.KeyPressMsg{Code: code}
		}
		if _, do := s.model.Update(press); do != nil {
			s.model.Update(do())
		}
	}
}

func (s *screen) text() string { return ansi.Strip(s.model.View().Content) }

// row returns the selected row.
func (s *screen) row() string {
	for line := range strings.Lines(s.text()) {
		if strings.HasPrefix(line, "> ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

const (
	seven = `{"id":7,"face":"gateway","state":"waiting","upstream":"anthropic","model":"claude","cause":"server overloaded","remainingMs":60000,"retries":3,"client":"curl/8"}`
	eight = `{"id":8,"face":"gateway","state":"paused","upstream":"openai","model":"gpt","cause":"rate limit"}`
	turn  = `{"conversation":"c1","face":"conversation","state":"waiting","upstream":"anthropic","model":"claude"}`
)

func TestCockpit_ActsOnWhatIsSelected(t *testing.T) {
	for _, c := range []struct{ keys, asks, says string }{
		{"r", `waits/7 {"do":"now"}`, "7 tried now"},
		{"p", `waits/7 {"do":"pause"}`, "7 paused"},
		{"j j p", `waits/8 {"do":"resume"}`, "8 resumed"},
		{"x", "", "Give up 7, with its last error? y or n"},
		{"x n", "", ""},
		{"x y", `waits/7 {"do":"give-up"}`, "7 given up"},
		{"m y", `waits/7 {"do":"skip"}`, "7 moved to its fallback"},
		{"j m", "", "Move to model: claude_   Enter moves, Esc does not"},
		{"j m esc", "", ""},
		{"j m backspace x / y enter", `conversations/c1/move {"model":"claudx/y"}`, "c1 moved to claudx/y"},
		{"R", `waits/7 {"do":"now"} waits/c1 {"do":"now"} waits/8 {"do":"now"}`, "2 calls and 1 turn of a conversation tried now"},
		{"X y", `waits/7 {"do":"give-up"} waits/c1 {"do":"give-up"} waits/8 {"do":"give-up"}`, "2 calls and 1 turn of a conversation given up"},
	} {
		s := newScreen(t, 100, 24, strings.Join([]string{seven, turn, eight}, ","))
		s.press(strings.Fields(c.keys)...)
		if diff := cmp.Diff(c.asks, strings.Join(s.asked, " ")); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.keys, diff)
		}
		if lines := strings.Split(s.text(), "\n"); strings.TrimSpace(lines[len(lines)-2]) != c.says {
			t.Errorf("%s: says %q, want %q", c.keys, lines[len(lines)-2], c.says)
		}
	}
}

func TestCockpit_SaysWhyNot(t *testing.T) {
	s := newScreen(t, 80, 24, strings.Replace(seven, "7", "9", 1))
	s.press("m", "y")
	if !strings.Contains(s.text(), "request 9 has no fallback") {
		t.Errorf("got\n%s\nwant the gateway's reason", s.text())
	}
}

func TestCockpit_GroupsAndFits(t *testing.T) {
	s := newScreen(t, 80, 24, seven+","+eight)
	s.press("d")
	for _, want := range []string{"2 calls, ", "anthropic: Server overloaded\n", "> 7", "curl/8", "cause: server overloaded", "model: claude client: curl/8"} {
		if !strings.Contains(s.text(), want) {
			t.Errorf("got\n%s\nwant %q in it", s.text(), want)
		}
	}
	for _, size := range [][2]int{{80, 24}, {40, 12}, {120, 40}, {20, 5}, {1, 1}} {
		s.model.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		lines := strings.Split(s.text(), "\n")
		if len(lines) > size[1] || slices.ContainsFunc(lines, func(line string) bool { return ansi.StringWidth(line) > size[0] }) {
			t.Errorf("%v: %d lines, want them to fit:\n%s", size, len(lines), s.text())
		}
	}
}

// A list that is longer than the screen follows the selection, and a wait that is over leaves it to the next.
func TestCockpit_SelectionStaysInSight(t *testing.T) {
	var all []string
	for i := range 50 {
		all = append(all, strings.Replace(seven, `"id":7`, fmt.Sprintf(`"id":%d`, 100+i), 1))
	}
	s := newScreen(t, 80, 12, strings.Join(all, ","))
	for range 30 {
		s.press("j")
	}
	if !strings.HasPrefix(s.row(), "> 130 ") {
		t.Errorf("selected %q, want 130 in\n%s", s.row(), s.text())
	}
	s.waits = strings.Join(slices.Delete(slices.Clone(all), 30, 31), ",")
	s.load()
	if !strings.HasPrefix(s.row(), "> 131 ") {
		t.Errorf("after 130 is over: selected %q, want 131", s.row())
	}
	s.waits = ""
	s.load()
	if s.press("r", "x", "m", "k"); !strings.Contains(s.text(), "nothing waits") || len(s.asked) > 0 {
		t.Errorf("nothing waits: asked %v, and shows\n%s", s.asked, s.text())
	}
}

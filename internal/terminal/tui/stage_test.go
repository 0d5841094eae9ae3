package tui_test

import (
	"context"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/tui"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/wire"
)

var update = flag.Bool("update", false, "write the screens of the tests to testdata")

var large = llm.Name{Provider: "acme", Model: "large"}

// house keeps conversations in memory and works on them.
type house struct {
	host      *conversation.Runner
	model     *llmtest.Model
	tools     []tool.Tool
	approve   func(context.Context, llm.ToolCall) error
	made      []string
	stuck     chan struct{} // a Stop ends with it; nil: at once
	refuses   error         // of Say
	unstopped error         // of Stop
	patient   bool          // waits for as long as it takes
}

// newHouse makes a house with a model that answers so, in a bubble.
func newHouse(t *testing.T, answers ...llmtest.Answer) *house {
	h := &house{model: llmtest.New(large, answers...)}
	memory := store.Memory()
	h.host = conversation.New(conversation.Config{Store: memory, Stay: 24 * time.Hour, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
		w := agent.Agent{Model: h.model, Tools: h.tools, Approve: h.approve}
		w.Retry.Policy = policy.Interactive()
		if h.patient {
			w.Retry.Policy = policy.Patient()
		}
		w.Retry.Policy.Backoff.Jitter = policy.Jitter{}
		return w, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.host.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = memory.Close(context.Background()) })
	return h
}

func (h *house) New(ctx context.Context, s conversation.Settings) (tui.Conversation, error) {
	id, err := h.host.Create(ctx, "talk-"+string(rune('a'+len(h.made))), s)
	h.made = append(h.made, id)
	return &talk{h, id}, err
}

func (h *house) Open(ctx context.Context, id string) (tui.Conversation, error) {
	if id == "busy" {
		return nil, store.ErrInUse
	}
	_, err := h.host.Get(ctx, id)
	return &talk{h, id}, err
}

func (h *house) List(ctx context.Context) iter.Seq2[tui.Entry, error] {
	return func(yield func(tui.Entry, error) bool) {
		for v, err := range h.host.List(ctx, "") {
			if !yield(tui.Entry{View: v}, err) {
				return
			}
		}
	}
}

// conv is a conversation of the house.
type talk struct {
	h  *house
	id string
}

func (t *talk) ID() string                                         { return t.id }
func (t *talk) Get(ctx context.Context) (conversation.View, error) { return t.h.host.Get(ctx, t.id) }

func (t *talk) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return t.h.host.Attach(ctx, t.id, after)
}

func (t *talk) Say(ctx context.Context, id, text string) (string, error) {
	if t.h.refuses != nil {
		return "", t.h.refuses
	}
	return t.h.host.Say(ctx, t.id, id, text)
}

func (t *talk) Again(ctx context.Context) (string, error) { return t.h.host.Again(ctx, t.id, "") }

func (t *talk) Edit(ctx context.Context, input, text string) error {
	return t.h.host.Edit(ctx, t.id, input, text)
}

func (t *talk) Remove(ctx context.Context, input string) error {
	return t.h.host.Remove(ctx, t.id, input)
}

func (t *talk) Steer(ctx context.Context, input string) error {
	return t.h.host.Steer(ctx, t.id, input)
}

func (t *talk) Stop(ctx context.Context, turnID string) error {
	if t.h.stuck != nil {
		select {
		case <-t.h.stuck:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if t.h.unstopped != nil {
		return t.h.unstopped
	}
	return t.h.host.Stop(ctx, t.id, turnID)
}
func (t *talk) Now(ctx context.Context) error { return t.h.host.Now(ctx, t.id) }
func (t *talk) Change(ctx context.Context, s conversation.Settings) error {
	return t.h.host.Change(ctx, t.id, s)
}
func (t *talk) Close() error { return nil }

// stage plays a program as a terminal would, in virtual time.
type stage struct {
	t      *testing.T
	model  tea.Model
	msgs   chan tea.Msg
	mu     sync.Mutex
	paper  []string // what was printed
	raw    []string // what was written beside the screen
	view   tea.View
	quit   chan struct{}
	draws  int
	cancel context.CancelFunc
}

// play begins to play.
func play(t *testing.T, c tui.Config, width, height int) *stage {
	ctx, cancel := context.WithCancel(t.Context())
	s := &stage{t: t, msgs: make(chan tea.Msg), quit: make(chan struct{}), cancel: cancel}
	if c.Env == nil {
		c.Env = terminalEnv("LANG", "C.UTF-8")
	}
	if c.Resume == nil {
		c.Resume = func(id string) string { return "ridethrough chat --session " + id }
	}
	if c.Models == nil {
		c.Models = func() []string { return nil }
	}
	s.model = tui.NewModel(ctx, c, func(text string, then tea.Msg) tea.Cmd {
		return func() tea.Msg {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.paper = append(s.paper, strings.Split(text, "\n")...)
			return then
		}
	})
	t.Cleanup(func() {
		cancel()
		time.Sleep(2 * time.Minute) // ticks cannot be taken back: they end in their time
	})
	go s.loop(ctx)
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	s.wait(0)
	return s
}

func (s *stage) loop(ctx context.Context) {
	s.do(ctx, s.model.Init())
	for {
		select {
		case <-ctx.Done():
			return
		case msg := <-s.msgs:
			switch msg := msg.(type) {
			case tea.QuitMsg:
				close(s.quit)
				return
			case tea.BatchMsg:
				for _, cmd := range msg {
					s.do(ctx, cmd)
				}
				continue
			case tea.RawMsg:
				s.mu.Lock()
				s.raw = append(s.raw, msg.Msg.(string))
				s.mu.Unlock()
			}
			var cmd tea.Cmd
			s.mu.Lock()
			s.model, cmd = s.model.Update(msg)
			s.view = s.model.View()
			s.draws++
			s.mu.Unlock()
			s.do(ctx, cmd)
		}
	}
}

// apply runs a command, as the program does: in no order.
func (s *stage) do(ctx context.Context, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if msg == nil {
			return
		}
		select {
		case s.msgs <- msg:
		case <-ctx.Done():
		case <-s.quit:
		}
	}()
}

func (s *stage) send(msg tea.Msg) {
	select {
	case s.msgs <- msg:
	case <-s.quit:
	}
}

// wait lets time pass.
func (s *stage) wait(d time.Duration) {
	time.Sleep(d + 100*time.Millisecond)
	synctest.Wait()
}

// keys presses keys: names such as "enter", or letters.
func (s *stage) keys(names ...string) {
	for _, name := range names {
		s.send(keyOf(name))
	}
	synctest.Wait()
}

// types types a text and ends it with Enter.
func (s *stage) types(text string) {
	for _, r := range text {
		s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	s.keys("enter")
	s.wait(0)
}

func keyOf(name string) tea.KeyPressMsg {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
		"ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
	}
	if k, ok := special[name]; ok {
		return k
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

var colors = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// screen gives what somebody sees who scrolls up to the beginning.
func (s *stage) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := append([]string{}, s.paper...)
	lines = append(lines, strings.Split(s.view.Content, "\n")...)
	for i, line := range lines {
		line = colors.ReplaceAllString(line, "")
		if strings.ContainsFunc(line, unicode.IsControl) {
			s.t.Errorf("the terminal would obey %q", line)
		}
		lines[i] = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	return strings.TrimLeft(strings.Join(lines, "\n"), "\n") + "\n"
}

// drawn gives how often the screen was drawn.
func (s *stage) drawn() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draws
}

// lastKey gives the view as it is.
func (s *stage) seen() tea.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

// written gives all that was printed and is on the screen, colors as well.
func (s *stage) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.paper, "\n") + s.view.Content
}

// beside gives what was written beside the screen.
func (s *stage) beside() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.raw, "")
}

// runLive gives the lines that still change.
func (s *stage) live() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return colors.ReplaceAllString(s.view.Content, "")
}

// sees checks that a text is on the screen.
func (s *stage) sees(words ...string) {
	s.t.Helper()
	screen := s.screen()
	for _, w := range words {
		if !strings.Contains(screen, w) {
			s.t.Errorf("%q is not on the screen:\n%s", w, screen)
		}
	}
}

// misses checks that a text is not on the screen.
func (s *stage) misses(words ...string) {
	s.t.Helper()
	screen := s.screen()
	for _, w := range words {
		if strings.Contains(screen, w) {
			s.t.Errorf("%q is on the screen:\n%s", w, screen)
		}
	}
}

// golden holds the screen against a file that somebody has looked at.
func (s *stage) golden(name string) {
	s.t.Helper()
	compare(s.t, name, s.screen())
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// finished tells whether the program has ended.
func (s *stage) gone() bool {
	synctest.Wait()
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// terminalEnv gives an environment of names and values.
func terminalEnv(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

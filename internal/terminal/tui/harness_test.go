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
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

var update = flag.Bool("update", false, "write the screens of the tests to testdata")

var large = llm.Name{Provider: "acme", Model: "large"}

// service stores conversations in memory and runs their turns.
type service struct {
	runner      *conversation.Runner
	model       *llmtest.Model
	tools       []tool.Tool
	answered    []turn.Decision // by commands
	made        []string
	cancelHangs chan struct{} // Cancel returns when it is closed; nil: at once
	sendErr     error         // of Send
	cancelErr   error         // of Cancel
	policy      policy.Policy // of the turns; as it is set before the first
}

// newService returns a service whose model gives these answers.
func newService(t *testing.T, answers ...llmtest.Answer) *service {
	s := &service{model: llmtest.New(large, answers...), policy: policy.Interactive()}
	memory := store.Memory()
	s.runner = conversation.New(conversation.Config{Store: memory, ParkAfter: 24 * time.Hour, Agent: func(context.Context, conversation.Settings) (agent.Agent, error) {
		w := agent.Agent{Model: s.model, Tools: s.tools}
		w.Retry.Policy = s.policy
		w.Retry.Policy.Backoff.Jitter = policy.Jitter{}
		return w, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.runner.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = memory.Close(context.Background()) })
	return s
}

func (s *service) New(ctx context.Context, with conversation.Settings) (tui.Conversation, error) {
	id, err := s.runner.Create(ctx, "conv-"+string(rune('a'+len(s.made))), with)
	s.made = append(s.made, id)
	return &serviceConversation{s, id}, err
}

func (s *service) Open(ctx context.Context, id string) (tui.Conversation, error) {
	if id == "busy" {
		return nil, store.ErrInUse
	}
	_, err := s.runner.Get(ctx, id)
	return &serviceConversation{s, id}, err
}

func (s *service) List(ctx context.Context) iter.Seq2[tui.Entry, error] {
	return func(yield func(tui.Entry, error) bool) {
		for v, err := range s.runner.List(ctx, "") {
			if !yield(tui.Entry{View: v}, err) {
				return
			}
		}
	}
}

// serviceConversation is a conversation of the service.
type serviceConversation struct {
	s  *service
	id string
}

func (c *serviceConversation) ID() string { return c.id }

func (c *serviceConversation) Get(ctx context.Context) (conversation.View, error) {
	return c.s.runner.Get(ctx, c.id)
}

func (c *serviceConversation) Attach(ctx context.Context, after int64) iter.Seq2[wire.Event, error] {
	return c.s.runner.Attach(ctx, c.id, after)
}

func (c *serviceConversation) Do(ctx context.Context, command tui.Command) (err error) {
	switch command := command.(type) {
	case tui.Pause:
		return c.s.runner.Pause(ctx, c.id)
	case tui.Unpause:
		return c.s.runner.Resume(ctx, c.id)
	case tui.Send:
		if err = c.s.sendErr; err == nil {
			_, err = c.s.runner.Submit(ctx, c.id, command.ID, command.Text, command.Images...)
		}
	case tui.Compact:
		_, err = c.s.runner.Compact(ctx, c.id, command.ID, command.Instruction)
	case tui.Remove:
		err = c.s.runner.Remove(ctx, c.id, command.ID)
	case tui.Steer:
		err = c.s.runner.Steer(ctx, c.id, command.ID)
	case tui.Retry:
		retry := c.s.runner.RetryTurn
		if command.UntilReset {
			retry = c.s.runner.WaitForWindow
		}
		_, err = retry(ctx, c.id, command.ID)
	case tui.Move:
		err = c.s.runner.Move(ctx, c.id, command.Model)
	case tui.RetryNow:
		err = c.s.runner.RetryNow(ctx, c.id)
	case tui.Cancel:
		err = c.s.cancel(ctx, c.id, command.ID)
	case tui.Answer:
		c.s.answered = append(c.s.answered, command.Decision)
		err = c.s.runner.Answer(ctx, c.id, command.Call, command.Decision)
	case tui.Change:
		err = c.s.runner.Change(ctx, c.id, command.Settings)
	}
	return err
}

// cancel cancels a turn as the service is set up.
func (s *service) cancel(ctx context.Context, id, turnID string) error {
	if s.cancelHangs != nil {
		select {
		case <-s.cancelHangs:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.cancelErr != nil {
		return s.cancelErr
	}
	return s.runner.Stop(ctx, id, turnID)
}

func (c *serviceConversation) Close() error { return nil }

// program is a running program with a simulated terminal, in virtual time.
type program struct {
	t       *testing.T
	model   tea.Model
	msgs    chan tea.Msg
	mu      sync.Mutex
	printed []string // lines above the view
	raw     []string // escape sequences
	view    tea.View
	quit    chan struct{}
	draws   int
	onDraw  func(screen string) // nil: nothing is done at each of them
	cancel  context.CancelFunc
}

// start starts the program.
func start(t *testing.T, c tui.Config, width, height int) *program {
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{t: t, msgs: make(chan tea.Msg), quit: make(chan struct{}), cancel: cancel}
	if c.Env == nil {
		c.Env = terminalEnv("LANG", "C.UTF-8")
	}
	if c.Resume == nil {
		c.Resume = func(id string) string { return "ridethrough chat --session " + id }
	}
	if c.Models == nil {
		c.Models = func() []string { return nil }
	}
	p.model = tui.NewModel(ctx, c, func(text string) { p.printed = append(p.printed, strings.Split(text, "\n")...) })
	t.Cleanup(func() {
		cancel()
		time.Sleep(2 * time.Minute) // ticks cannot be canceled
	})
	go p.loop(ctx)
	p.send(tea.WindowSizeMsg{Width: width, Height: height})
	p.wait(0)
	return p
}

func (p *program) loop(ctx context.Context) {
	p.mu.Lock()
	begin := p.model.Init()
	p.mu.Unlock()
	p.do(ctx, begin)
	for {
		select {
		case <-ctx.Done():
			return
		case msg := <-p.msgs:
			switch msg := msg.(type) {
			case tea.QuitMsg:
				close(p.quit)
				return
			case tea.BatchMsg:
				for _, cmd := range msg {
					p.do(ctx, cmd)
				}
				continue
			case tea.RawMsg:
				p.mu.Lock()
				p.raw = append(p.raw, msg.Msg.(string))
				p.mu.Unlock()
			}
			var cmd tea.Cmd
			p.mu.Lock()
			p.model, cmd = p.model.Update(msg)
			p.view = p.model.View()
			p.draws++
			if p.onDraw != nil {
				p.onDraw(strings.Join(p.printed, "\n") + p.view.Content)
			}
			p.mu.Unlock()
			p.do(ctx, cmd)
		}
	}
}

// do runs a command concurrently, as Bubble Tea does.
func (p *program) do(ctx context.Context, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if msg == nil {
			return
		}
		select {
		case p.msgs <- msg:
		case <-ctx.Done():
		case <-p.quit:
		}
	}()
}

func (p *program) send(msg tea.Msg) {
	select {
	case p.msgs <- msg:
	case <-p.quit:
	}
}

// wait lets d and a little more pass.
func (p *program) wait(d time.Duration) {
	time.Sleep(d + 100*time.Millisecond)
	synctest.Wait()
}

// keys presses keys: names such as "enter", or characters.
func (p *program) keys(names ...string) {
	for _, name := range names {
		p.send(keyOf(name))
	}
	synctest.Wait()
}

// types types a text and ends it with Enter.
func (p *program) types(text string) {
	for _, r := range text {
		p.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	p.keys("enter")
	p.wait(0)
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

// screen returns the printed lines and the view.
func (p *program) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := append([]string{}, p.printed...)
	lines = append(lines, strings.Split(p.view.Content, "\n")...)
	for i, line := range lines {
		line = colors.ReplaceAllString(line, "")
		if strings.ContainsFunc(line, unicode.IsControl) {
			p.t.Errorf("screen: got %q with control characters", line)
		}
		lines[i] = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	return strings.TrimLeft(strings.Join(lines, "\n"), "\n") + "\n"
}

// drawn returns how often the screen was drawn.
func (p *program) drawn() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.draws
}

// seen returns the view.
func (p *program) seen() tea.View {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view
}

// written returns the printed lines and the view with colors.
func (p *program) written() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.printed, "\n") + p.view.Content
}

// escapes returns the escape sequences that were written.
func (p *program) escapes() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.raw, "")
}

// live returns the view without colors.
func (p *program) live() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return colors.ReplaceAllString(p.view.Content, "")
}

// sees checks that texts are on the screen.
func (p *program) sees(texts ...string) {
	p.t.Helper()
	screen := p.screen()
	for _, w := range texts {
		if !strings.Contains(screen, w) {
			p.t.Errorf("screen: got no %q, want it:\n%s", w, screen)
		}
	}
}

// misses checks that texts are not on the screen.
func (p *program) misses(texts ...string) {
	p.t.Helper()
	screen := p.screen()
	for _, w := range texts {
		if strings.Contains(screen, w) {
			p.t.Errorf("screen: got %q, want none:\n%s", w, screen)
		}
	}
}

// golden compares the screen with a file in testdata.
func (p *program) golden(name string) {
	p.t.Helper()
	compare(p.t, name, p.screen())
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// ended reports whether the program has ended.
func (p *program) ended() bool {
	synctest.Wait()
	select {
	case <-p.quit:
		return true
	default:
		return false
	}
}

// terminalEnv returns an environment of names and values.
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

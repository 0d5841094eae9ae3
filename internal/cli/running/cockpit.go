package running

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/internal/text"
)

// cockpit shows what waits on a whole screen, grouped by upstream, and acts on it by single keys.
type cockpit struct {
	gateway Gateway
	ctx     context.Context

	width, height int
	heard         heard
	chosen        string // the name of the selected wait; "": the first
	details       bool   // of the selected wait
	asks          string // the question that keys answer: "give-up", "all" or "move"; "": none
	typed         string // the model to move to
	said          string // what came of the last key
}

// heard is the gateway's latest answer.
type heard struct {
	waits     []Wait
	upstreams []Upstream
	err       error
}

type tick struct{}

// watch shows the cockpit on a terminal until q, Ctrl+C or the end of ctx.
func watch(ctx context.Context, g Gateway, s command.Streams) error {
	profile := colorprofile.ANSI
	if s.Env("NO_COLOR") != "" {
		profile = colorprofile.ASCII
	}
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithOutput(s.Out), tea.WithColorProfile(profile), tea.WithoutSignalHandler(), tea.WithInput(nil), tea.WithFilter(sized(command.NewScreen(s, false))),
	}
	if in, ok := s.In.(*os.File); ok && command.IsTerminal(in) { // without keys it still shows
		options = append(options, tea.WithInput(in))
	}
	_, err := tea.NewProgram(&cockpit{gateway: g, ctx: ctx}, options...).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// sized assumes, for a terminal that does not know its size, that of the other screens.
func sized(screen *command.Screen) func(tea.Model, tea.Msg) tea.Msg {
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if size, ok := msg.(tea.WindowSizeMsg); ok && size.Width*size.Height == 0 {
			size.Width, size.Height = screen.Size()
			return size
		}
		return msg
	}
}

func (c *cockpit) Init() tea.Cmd { return c.load }

// load asks the gateway. If it does not answer, the next tick asks again.
func (c *cockpit) load() tea.Msg {
	var h heard
	if h.waits, h.err = c.gateway.Waits(c.ctx); h.err == nil {
		h.upstreams, h.err = c.gateway.Upstreams(c.ctx)
	}
	slices.SortStableFunc(h.waits, func(a, b Wait) int { return cmp.Compare(a.Upstream, b.Upstream) })
	return h
}

func (c *cockpit) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.width, c.height = msg.Width, msg.Height
	case heard:
		if msg.err != nil {
			msg.waits, msg.upstreams = c.heard.waits, c.heard.upstreams
		}
		at := c.index()
		if c.heard = msg; at < len(msg.waits) && !slices.ContainsFunc(msg.waits, func(w Wait) bool { return w.Name() == c.chosen }) {
			c.chosen = msg.waits[at].Name() // the next one where it was
		}
		return c, tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} })
	case tick:
		return c, c.load
	case acted:
		c.said = string(msg)
	case tea.KeyPressMsg:
		return c, c.press(msg)
	}
	return c, nil
}

func (c *cockpit) press(key tea.KeyPressMsg) tea.Cmd {
	if key.String() == "ctrl+c" {
		return tea.Quit
	}
	if c.asks != "" {
		return c.answer(key)
	}
	c.said = ""
	switch key.String() {
	case "q", "esc":
		return tea.Quit
	case "down", "j":
		c.move(1)
	case "up", "k":
		c.move(-1)
	case "enter", "d":
		c.details = !c.details
	case "r":
		return c.act("now", "tried now")
	case "R":
		return c.actOnAll("now", "tried now")
	case "p":
		if w, ok := c.selected(); ok && w.State == "paused" {
			return c.act("resume", "resumed")
		}
		return c.act("pause", "paused")
	case "x":
		c.ask("give-up")
	case "X":
		c.ask("all")
	case "m":
		c.ask("move")
	}
	return nil
}

// ask asks a question about the selected wait, if there is one.
func (c *cockpit) ask(question string) {
	if w, ok := c.selected(); ok {
		c.asks, c.typed = question, w.Model
	}
}

func (c *cockpit) answer(key tea.KeyPressMsg) tea.Cmd {
	question := c.asks
	w, _ := c.selected()
	switch pressed := key.String(); {
	case pressed == "esc":
		c.asks = ""
	case question == "move" && w.Turn != "":
		return c.typeModel(key, w)
	case pressed != "y":
		c.asks = ""
	case question == "all":
		c.asks = ""
		return c.actOnAll("give-up", "given up")
	case question == "move":
		c.asks = ""
		return c.act("skip", "moved to its fallback")
	default:
		c.asks = ""
		return c.act("give-up", "given up")
	}
	return nil
}

// typeModel edits the model that a turn moves to. Enter moves the turn.
func (c *cockpit) typeModel(key tea.KeyPressMsg, w Wait) tea.Cmd {
	switch key.String() {
	case "enter":
		c.asks = ""
		model := strings.TrimSpace(c.typed)
		return c.do(w.Name()+" moved to "+model, func() error { return c.gateway.Move(c.ctx, w.Turn, model) })
	case "backspace":
		if letters := []rune(c.typed); len(letters) > 0 {
			c.typed = string(letters[:len(letters)-1])
		}
	case "ctrl+u":
		c.typed = ""
	default:
		c.typed += key.Text
	}
	return nil
}

// acted is the result of a key.
type acted string

// do runs something in the background and reports that it is done, or its error.
func (c *cockpit) do(done string, something func() error) tea.Cmd {
	return func() tea.Msg {
		if err := something(); err != nil {
			return acted(printable.Text(err.Error()))
		}
		return acted(done)
	}
}

// act carries out an action on the selected wait.
func (c *cockpit) act(do, done string) tea.Cmd {
	w, ok := c.selected()
	if !ok {
		return nil
	}
	return c.do(w.Name()+" "+done, func() error { return c.gateway.Act(c.ctx, w.Name(), do) })
}

func (c *cockpit) actOnAll(do, done string) tea.Cmd {
	return func() tea.Msg {
		reached, err := c.gateway.actOnAll(c.ctx, do)
		if err != nil {
			return acted(printable.Text(err.Error()))
		}
		return acted(counted(count(reached)) + " " + done)
	}
}

// selected returns the selected wait, or the first one if that is over.
func (c *cockpit) selected() (Wait, bool) {
	if len(c.heard.waits) == 0 {
		return Wait{}, false
	}
	return c.heard.waits[c.index()], true
}

func (c *cockpit) index() int {
	return max(0, slices.IndexFunc(c.heard.waits, func(w Wait) bool { return w.Name() == c.chosen }))
}

func (c *cockpit) move(by int) {
	if n := len(c.heard.waits); n > 0 {
		c.chosen = c.heard.waits[min(max(c.index()+by, 0), n-1)].Name()
	}
}

func (c *cockpit) View() tea.View {
	now := time.Now()
	head := []string{lipgloss.NewStyle().Bold(true).Render(printable.Text(c.gateway.URL)) + "  " + c.summary(now), ""}
	foot := c.foot(now)
	body, at := c.body(now)
	room := max(1, c.height-len(head)-len(foot))
	from := max(0, min(at-room/2, len(body)-room)) // the selected row stays in the middle
	body = body[from:min(from+room, len(body))]
	for len(body) < room {
		body = append(body, "")
	}
	lines := slices.Concat(head, body, foot)
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, c.width, "…")
	}
	view := tea.NewView(strings.Join(lines[:min(len(lines), c.height)], "\n"))
	view.AltScreen = true
	return view
}

func (c *cockpit) summary(now time.Time) string {
	switch {
	case c.heard.err != nil:
		return lipgloss.NewStyle().Foreground(lipgloss.Red).Render(printable.Text(c.heard.err.Error()))
	case len(c.heard.waits) == 0:
		return "nothing waits"
	}
	return counted(count(c.heard.waits)) + ", " + next(Soonest(c.heard.waits), now)
}

// body returns the rows below their upstreams, and the number of the selected row.
func (c *cockpit) body(now time.Time) (lines []string, at int) {
	columns := c.width - 2 // of the mark
	rows := table(c.heard.waits, now, columns, false)
	if len(c.heard.waits) == 0 {
		return nil, 0
	}
	lines = append(lines, "  "+lipgloss.NewStyle().Faint(true).Render(rows[0]))
	chosen := c.index()
	for i, w := range c.heard.waits {
		if i == 0 || w.Upstream != c.heard.waits[i-1].Upstream {
			lines = append(lines, c.group(w.Upstream))
		}
		mark, row := "  ", rows[i+1]
		if i == chosen {
			at, mark, row = len(lines), "> ", lipgloss.NewStyle().Reverse(true).Render(row)
		}
		lines = append(lines, mark+row)
	}
	return lines, at
}

func (c *cockpit) group(name string) string {
	line := lipgloss.NewStyle().Foreground(lipgloss.Yellow).Render(plain(name))
	if i := slices.IndexFunc(c.heard.upstreams, func(u Upstream) bool { return u.Name == name }); i >= 0 {
		u := c.heard.upstreams[i]
		line += ": " + plain(cmp.Or(u.Reason, u.State))
	}
	return line
}

// foot returns the lines below the list: details, a question or the result of the last key, and the keys.
func (c *cockpit) foot(now time.Time) []string {
	lines := []string{""}
	w, ok := c.selected()
	if ok && c.details {
		for _, line := range []string{
			"cause:  " + plain(cmp.Or(w.Cause, w.Limit)),
			fmt.Sprintf("model:  %s   client: %s   since %s", plain(w.Model), plain(w.Client), w.Began.Local().Format(time.TimeOnly)),
			fmt.Sprintf("tries:  %s, waited %s, %s", text.Count(w.Retries, "retry", "retries"), waited(w, now), next(w, now)),
		} {
			lines = append(lines, strings.Split(text.Wrap(line, max(20, c.width)), "\n")...)
		}
	}
	say := c.said
	switch {
	case c.asks == "give-up":
		say = "Give up " + w.Name() + ", with its last error? y or n"
	case c.asks == "all":
		say = "Give up all " + counted(count(c.heard.waits)) + "? y or n"
	case c.asks == "move" && w.Turn == "":
		say = "Move " + w.Name() + " to its fallback? y or n"
	case c.asks == "move":
		say = "Move to model: " + printable.Text(c.typed) + "_   Enter moves, Esc does not"
	}
	return append(lines, say, lipgloss.NewStyle().Faint(true).Render("r retry · R all · p pause · x give up · X all · m move · d details · q quit"))
}

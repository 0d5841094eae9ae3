package tui

import (
	"cmp"
	"context"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/wire"
)

// model is what is on the screen: messages come in through Update, and what is
// shown follows from it. Lines that will not change any more are printed above
// it and belong to the terminal from then on.
type model struct {
	Config
	ctx    context.Context
	paint  paint
	md     markdown
	width  int
	height int

	composer textarea.Model
	pastes   map[string]string // what was pasted and is too long to be shown, by the words that stand for it
	prompts  *prompts
	picks    picks // what could be meant by what was typed

	talk    Conversation
	feed    *feed
	session conversation.Settings
	opening bool            // a conversation is being opened
	unsaid  []input         // said and not taken yet
	saying  bool            // the first of them is being said
	known   map[string]bool // inputs of which the conversation has told
	past    past

	turn     turnState
	queue    []input
	answer   stream
	tail     tail // the open end of the answer, as it is shown
	calls    []llm.ToolCall
	asking   []Approval
	asked    time.Time // since when the first of them is shown
	always   map[string]bool
	wait     *waiting
	lost     *wire.ConnectionLost
	lostDue  time.Time
	failed   *failure
	details  bool
	hint     string // one line about what was just done
	hintEnds time.Time

	out      []string // lines that are to be printed
	printing bool
	calm     time.Time // nothing is printed before
	print    func(text string, then tea.Msg) tea.Cmd
	dense    bool // what was printed last is no blank line

	clock   clock
	away    attention
	pressed press
	fence   fence // what the terminal was asked
	leaving bool
}

// turnState is what is known of the turn under way, or of the last.
type turnState struct {
	id       string // "": none is under way
	prompt   string // what it began with
	began    time.Time
	blocks   int       // of its answers that are printed
	stopping time.Time // since when somebody wants it to end; zero: nobody does
	stuck    bool      // it could not be ended
	again    bool      // the last one has failed and can be asked again
}

// input is something that was said and waits for its turn.
type input struct{ id, text string }

// tail is the end of an answer as it is shown.
type tail struct {
	text  string
	width int
	lines []string
}

// newModel makes a model; print shows lines above it.
func newModel(ctx context.Context, c Config, print func(string, tea.Msg) tea.Cmd) *model {
	m := &model{
		Config: c, ctx: ctx, paint: newPaint(c.Env), width: 80, height: 24, print: print,
		prompts: loadPrompts(c.History), pastes: map[string]string{}, always: map[string]bool{}, known: map[string]bool{}, session: c.Settings,
	}
	m.md.paint = m.paint
	m.composer = m.newComposer()
	m.away.seen = time.Now()
	return m
}

// Init begins.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.fence.ask(), m.nextApproval(), m.composer.Focus()}
	if m.Config.Conversation != nil {
		cmds = append(cmds, m.enterTalk(m.Config.Conversation))
	}
	if m.Prompt != "" {
		cmds = append(cmds, m.say(m.Prompt))
	}
	return tea.Batch(append(cmds, m.flush())...)
}

// Update takes in what has happened.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := tea.Batch(m.update(msg), m.flush(), m.tick())
	if m.gone() {
		return m, tea.Quit
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.FocusMsg:
		m.away.focus(true)
	case tea.BlurMsg:
		m.away.focus(false)
	case told:
		return m.told(msg)
	case ended:
		return m.ended(msg)
	case Approval:
		return tea.Batch(m.ask(msg), m.nextApproval())
	case printed:
		m.printing = false
	case quiet:
		return m.settle(msg)
	case ticked:
		return m.ticked(msg)
	case leave:
		return m.leave()
	case left:
		m.fence.late = true
	case interface{ do(*model) tea.Cmd }:
		return msg.do(m)
	default:
		return m.reply(msg)
	}
	return nil
}

// reply takes in what the terminal has answered, and what the composer has
// asked for.
func (m *model) reply(msg tea.Msg) tea.Cmd {
	m.fence.answered(msg)
	var cmd tea.Cmd
	m.composer, cmd = m.composer.Update(msg)
	return cmd
}

// did is what a command gives back that has to be taken in by the model.
type did func(*model) tea.Cmd

func (d did) do(m *model) tea.Cmd { return d(m) }

// run does something that may take its time, and takes in what came of it. It
// may go on when the program ends.
func run(work func() did) tea.Cmd {
	return func() tea.Msg {
		if d := work(); d != nil {
			return d
		}
		return nil
	}
}

// printed says that lines have been printed.
type printed struct{}

// emit has lines printed, which belong to the terminal from then on.
func (m *model) emit(lines ...string) {
	m.out = append(m.out, lines...)
	m.dense = lines[len(lines)-1] != ""
}

// gap sets off what is printed next with a blank line, if there is none yet.
func (m *model) gap() {
	if m.dense {
		m.emit("")
	}
}

// flush prints what is to be printed. Only one lot is under way at a time:
// commands are in no order.
func (m *model) flush() tea.Cmd {
	if m.printing || len(m.out) == 0 || time.Now().Before(m.calm) {
		return nil
	}
	var text strings.Builder
	rows := 0
	for len(m.out) > 0 && (rows == 0 || rows+rowsOf(m.out[0], m.width) <= m.lot()) {
		if rows > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(cmp.Or(m.out[0], " ")) // of nothing at all, nothing is printed
		rows += rowsOf(m.out[0], m.width)
		m.out = m.out[1:]
	}
	m.printing = true
	return m.print(text.String(), printed{})
}

// lot is how many rows are printed at once. The view, of which an earlier state
// may still be on the screen, never takes what is left for them: lines for
// which there is no room would take others off the screen that are kept nowhere.
func (m *model) lot() int { return max(1, m.height/3) }

// rowsOf gives how many rows a line takes.
func rowsOf(line string, width int) int { return 1 + max(0, lipgloss.Width(line)-1)/width }

// resize fits what is shown to the window. In one that has become smaller the
// view has to be drawn before there is room to print.
func (m *model) resize(width, height int) tea.Cmd {
	if height < m.height || width < m.width {
		m.calm = time.Now().Add(calmTime)
	}
	m.width, m.height = max(1, width), max(1, height)
	m.composer.SetWidth(max(4, m.width-1))
	m.fitComposer()
	return nil
}

// calmTime is some frames.
const calmTime = 100 * time.Millisecond

// tell shows a hint for a while.
func (m *model) tell(hint string) {
	m.hint, m.hintEnds = hint, time.Now().Add(hintTime)
}

// hintTime is how long a hint is shown.
const hintTime = 5 * time.Second

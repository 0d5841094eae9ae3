package tui

import (
	"context"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// model is the state of the screen: messages arrive through Update, and View shows the state. Lines that will not
// change any more are printed above the view and then belong to the terminal.
type model struct {
	session
	ctx    context.Context
	md     markdown
	width  int
	height int

	composer    textarea.Model
	doubtful    string            // a prompt that names files which are not attached; the same again is sent
	pastes      map[string]string // long pasted texts by their placeholder
	completions completions       // of the text that is being typed
	picker      *picker           // the list of conversations to choose from; nil: it is closed

	opening     bool            // a conversation is being opened
	outbox      []input         // prompts that the conversation has not accepted yet
	sending     bool            // the first of them is being sent
	knownInputs map[string]bool // ids of the inputs that events have mentioned
	replay      replay

	turn        turnState
	queue       []input
	answer      stream
	tail        renderedTail // the unfinished end of the answer, rendered
	calls       []llm.ToolCall
	askedAt     time.Time // since when the first question is shown
	wait        *shownWait
	lost        *wire.ConnectionLost
	lostDue     time.Time
	failure     *shownFailure
	showDetails bool
	hint        string // one line about what just happened
	hintEnds    time.Time

	pending    []string          // lines to print
	printAbove func(text string) // with the next view
	needsGap   bool              // the line printed last is not blank

	tickAt    time.Time // when the screen is redrawn; zero: nothing is due
	attention attention
	keyTimes  keyTimes
	fence     fence // the last query to the terminal
	quitting  bool
}

// turnState is what is known about the turn in progress, or about the last one.
type turnState struct {
	id             string // "": no turn is in progress
	prompt         string // the first user message
	started        time.Time
	blocks         int         // blocks of its answers that are printed
	cancelingSince time.Time   // since when it is being canceled; zero: it is not
	cancelFailed   bool        // it could not be canceled
	retryable      bool        // the last turn failed and can be retried
	hopeless       bool        // its failure does not pass by itself, so that trying again is not offered
	ofWindow       bool        // its failure is that a usage window is spent, for which a retry can wait
	failing        bool        // its answer has failed, and nothing of it has come since
	compacts       *turn.Start // it makes the history smaller; nil: it answers
	returned       input       // the prompt that came back from the last turn, which was canceled before an answer; id: of the turn that asks it again
}

type input struct {
	id, text string
	images   []llm.Image
}

type renderedTail struct {
	text  string
	width int
	lines []string
}

func newModel(ctx context.Context, c Config, printAbove func(string)) *model {
	m := &model{
		session: newSession(c, newPalette(c.Env)), ctx: ctx, width: 80, height: 24, printAbove: printAbove,
		pastes: map[string]string{}, knownInputs: map[string]bool{},
	}
	m.md = newMarkdown(m.paint)
	m.composer = m.newComposer()
	m.attention.lastKey = time.Now()
	return m
}

func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.fence.ask(), m.composer.Focus()}
	if m.paint.color {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	if m.Config.Conversation != nil {
		cmds = append(cmds, m.showConversation(m.Config.Conversation))
	}
	if m.Pick {
		cmds = append(cmds, m.pick())
	}
	if m.Prompt != "" {
		cmds = append(cmds, m.sendWithFiles(m.Prompt, m.Prompt))
	}
	m.flush()
	return tea.Batch(cmds...)
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := tea.Batch(m.update(msg), m.tick())
	m.flush()
	if m.quitting && m.fence.passed {
		return m, tea.Quit
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return m.onKey(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.FocusMsg:
		m.attention.reported, m.attention.focused = true, true
	case tea.BlurMsg:
		m.attention.reported, m.attention.focused = true, false
	case tea.BackgroundColorMsg:
		m.paint.background = light
		if msg.IsDark() {
			m.paint.background = dark
		}
		m.md.paint = m.paint
	case eventsMsg:
		return m.onEvents(msg)
	case feedEndedMsg:
		return m.onFeedEnd(msg)
	case replayQuietMsg:
		return m.onReplayQuiet(msg)
	case tickMsg:
		return m.onTick(msg)
	case quitMsg:
		return m.quit()
	case uv.PrimaryDeviceAttributesEvent, fenceTimeoutMsg:
		m.fence.passed = true
	case outcome:
		return msg(m)
	default:
		var cmd tea.Cmd
		m.composer, cmd = m.composer.Update(msg)
		return cmd
	}
	return nil
}

// outcome is how an asynchronous operation changes the model.
type outcome func(*model) tea.Cmd

// async runs work concurrently and applies its outcome. The program may quit meanwhile.
func async(work func() outcome) tea.Cmd {
	return func() tea.Msg {
		if d := work(); d != nil {
			return d
		}
		return nil
	}
}

// emit queues lines for printing; printed lines belong to the terminal.
func (m *model) emit(lines ...string) {
	m.pending = append(m.pending, lines...)
	m.needsGap = lines[len(lines)-1] != ""
}

// ensureGap separates the next printed text by a blank line.
func (m *model) ensureGap() {
	if m.needsGap {
		m.emit("")
	}
}

// flush prints pending lines together with the next view, so that a text that moves from the view to the lines
// above it never disappears in between.
func (m *model) flush() {
	if len(m.pending) > 0 {
		m.printAbove(strings.Join(m.pending, "\n"))
		m.pending = nil
	}
}

func (m *model) resize(width, height int) tea.Cmd {
	m.width, m.height = max(1, width), max(1, height)
	m.composer.SetWidth(max(4, m.width-1))
	m.fitComposer()
	return nil
}

func (m *model) showHint(hint string) {
	m.hint, m.hintEnds = hint, time.Now().Add(hintDuration)
}

const hintDuration = 5 * time.Second

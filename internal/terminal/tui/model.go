package tui

import (
	"context"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// model is the state of the screen: messages come in through Update, and View shows it. Lines that
// will not change any more are printed above the view and belong to the terminal from then on.
type model struct {
	Config
	ctx    context.Context
	paint  palette
	md     markdown
	width  int
	height int

	composer    textarea.Model
	doubtful    string            // a prompt that names files which are not attached; the same again is sent
	pastes      map[string]string // long pasted texts by their placeholder
	prompts     *promptHistory
	completions completions // of the text that is being typed
	picker      *picker     // the list of conversations to choose from; nil: it is closed

	conv        Conversation
	feed        *feed
	settings    conversation.Settings
	opening     bool            // a conversation is being opened
	paused      bool            // the conversation is
	outbox      []input         // prompts that the conversation has not accepted yet
	sending     bool            // the first of them is being sent
	knownInputs map[string]bool // ids of the inputs that events have mentioned
	replay      replay

	turn        turnState
	spending    spending
	queue       []input
	answer      stream
	tail        renderedTail // the unfinished end of the answer, rendered
	calls       []llm.ToolCall
	question    question
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

	ticker    ticker
	attention attention
	keyTimes  keyTimes
	fence     fence // the last query to the terminal
	quitting  bool
}

// turnState is what is known of the turn in progress, or of the last one.
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

// input is a prompt that waits for its turn.
type input struct {
	id, text string
	images   []llm.Image
}

// renderedTail is the end of an answer as it is shown.
type renderedTail struct {
	text  string
	width int
	lines []string
}

// newModel returns a model whose print function prints lines above the view.
func newModel(ctx context.Context, c Config, printAbove func(string)) *model {
	m := &model{
		Config: c, ctx: ctx, paint: newPalette(c.Env), width: 80, height: 24, printAbove: printAbove,
		prompts: loadPrompts(c.History), pastes: map[string]string{}, knownInputs: map[string]bool{}, settings: c.Settings,
	}
	m.md.paint = m.paint
	m.composer = m.newComposer()
	m.attention.lastKey = time.Now()
	return m
}

// Init starts the program.
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

// Update handles a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := tea.Batch(m.update(msg), m.tick())
	m.flush()
	if m.finished() {
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
		m.attention.focus(true)
	case tea.BlurMsg:
		m.attention.focus(false)
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
	case fenceTimeoutMsg:
		m.fence.timedOut = true
	case outcome:
		return msg(m)
	default:
		return m.onTerminalReply(msg)
	}
	return nil
}

// onTerminalReply handles the terminal's answers and the composer's own messages.
func (m *model) onTerminalReply(msg tea.Msg) tea.Cmd {
	m.fence.answered(msg)
	var cmd tea.Cmd
	m.composer, cmd = m.composer.Update(msg)
	return cmd
}

// outcome is what an asynchronous operation changes in the model.
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

// ensureGap separates what is printed next by a blank line.
func (m *model) ensureGap() {
	if m.needsGap {
		m.emit("")
	}
}

// flush prints pending lines with the next view: a text that moves from there above it is never in neither.
func (m *model) flush() {
	if len(m.pending) > 0 {
		m.printAbove(strings.Join(m.pending, "\n"))
		m.pending = nil
	}
}

// resize fits the view to the window.
func (m *model) resize(width, height int) tea.Cmd {
	m.width, m.height = max(1, width), max(1, height)
	m.composer.SetWidth(max(4, m.width-1))
	m.fitComposer()
	return nil
}

// showHint shows a hint for a while.
func (m *model) showHint(hint string) {
	m.hint, m.hintEnds = hint, time.Now().Add(hintDuration)
}

// hintDuration is how long a hint is shown.
const hintDuration = 5 * time.Second

package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// plainSession shows a conversation by appending lines: one per transition, one per 30 s of a wait, and the
// answers. It reads prompts line by line and sends each at once. When the input ends it waits for the turns in
// progress.
type plainSession struct {
	session
	listed     []Entry // the conversations whose numbers were shown last; nil: none were since the last line
	lastBefore int64   // the last record from before it was opened

	openTurns map[string]bool // ids of the turns that were sent and are not sealed
	streamed  string          // the answer that is streaming
	midline   bool
	wait      *policy.Wait
	unpausing bool // its pause has been ended, which is not shown yet
	failed    *Failure
	begun     turn.Start              // of the last turn
	answered  *turn.ApprovalRequested // the question whose answer is on its way; nil: none
	refused   bool                    // questions are, since the input has ended
	writeErr  error
}

func runPlain(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ps := &plainSession{
		session: newSession(c, palette{ascii: printable.OnlyASCII(c.Env)}), openTurns: map[string]bool{},
	}
	err := ps.loop(ctx)
	if ps.feed != nil {
		ps.feed.cancel()
	}
	if ps.conv != nil {
		if closing := ps.conv.Close(); err == nil {
			err = closing
		}
		if resume := ps.resumeLine(); resume != "" && (len(ps.openTurns) > 0 || ps.failed != nil) {
			ps.line(resume)
		}
	}
	switch {
	case err != nil:
		return err
	case ps.failed != nil:
		return ps.failed
	}
	return ps.writeErr
}

func (ps *plainSession) loop(ctx context.Context) error {
	if err := ps.begin(ctx); err != nil {
		return err
	}
	lines := ps.readLines(ctx)
	for lines != nil || len(ps.openTurns) > 0 && (!ps.paused || ps.unpausing) {
		var events chan wire.Event
		if ps.feed != nil {
			events = ps.feed.events
		}
		more := lines
		if len(ps.openTurns) >= conversation.MaxQueue/2 && !ps.asks() {
			more = nil // the writer of the pipe can wait
		}
		select {
		case <-ctx.Done():
			ps.finishLine()
			return nil
		case l, ok := <-more:
			switch {
			case !ok:
				lines = nil
			case l.err != nil:
				return l.err
			default:
				if quit, err := ps.onLine(ctx, l.text); quit || err != nil {
					return err
				}
			}
		case e, ok := <-events:
			if !ok {
				return ps.feed.err
			}
			ps.onEvent(e)
		}
		if lines == nil && ps.asks() { // no input remains to answer the question
			ps.refused = true
			if err := ps.answer(ctx, turn.Deny); err != nil {
				return err
			}
		}
		if ps.writeErr != nil {
			return nil // the reader of the output is gone
		}
	}
	return nil
}

func (ps *plainSession) begin(ctx context.Context) error {
	if ps.Config.Conversation != nil {
		if err := ps.attach(ctx, ps.Config.Conversation); err != nil {
			return err
		}
	}
	switch {
	case ps.Pick:
		return ps.list(ctx)
	case ps.Prompt == "":
		return nil
	}
	return ps.sendWithFiles(ctx, ps.Prompt)
}

type inputLine struct {
	text string
	err  error
}

// readLines reads lines; a line that ends in a backslash continues on the next. The process may end before the
// input does.
func (ps *plainSession) readLines(ctx context.Context) <-chan inputLine {
	lines := make(chan inputLine)
	send := func(t inputLine) bool {
		select {
		case lines <- t:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(lines)
		in := bufio.NewReader(ps.In)
		var prompt strings.Builder
		for {
			text, err := in.ReadString('\n')
			continued := strings.HasSuffix(strings.TrimRight(text, "\r\n"), `\`) && err == nil
			text = strings.ToValidUTF8(strings.TrimRight(text, "\r\n"), "\uFFFD")
			if continued {
				prompt.WriteString(strings.TrimSuffix(text, `\`) + "\n")
				continue
			}
			prompt.WriteString(text)
			if strings.TrimSpace(prompt.String()) != "" && !send(inputLine{text: prompt.String()}) {
				return
			}
			prompt.Reset()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					send(inputLine{err: fmt.Errorf("read input: %w", err)})
				}
				return
			}
		}
	}()
	return lines
}

func (ps *plainSession) onLine(ctx context.Context, text string) (quit bool, err error) {
	if ps.asks() {
		return false, ps.answerQuestion(ctx, strings.ToLower(strings.TrimSpace(text)))
	}
	if c, ok := parseCommand(text); ok {
		return ps.runCommand(ctx, c)
	}
	if e, ok := ps.numbered(text); ok {
		return ps.runCommand(ctx, slashCommand{"resume", e.ID})
	}
	ps.listed = nil
	return false, ps.sendWithFiles(ctx, text)
}

// attach shows a conversation and closes the previous one.
func (ps *plainSession) attach(ctx context.Context, conv Conversation) error {
	ps.closeConversation()
	ps.conv = conv
	view, err := conv.Get(ctx)
	if err != nil {
		return err
	}
	ps.settings, ps.lastBefore = view.Settings, view.Last
	ps.onPaused(!view.Paused.IsZero())
	ps.feed = follow(ctx, conv)
	if view.Turn != "" {
		ps.openTurns[view.Turn] = true
	}
	for _, in := range view.Inputs {
		ps.openTurns[in.ID] = true
	}
	return nil
}

// send sends a prompt, to a new conversation if none is open.
func (ps *plainSession) send(ctx context.Context, text string, images ...llm.Image) error {
	ps.prompts.add(typed(text))
	if ps.conv == nil {
		conv, err := ps.Conversations.New(ctx, ps.settings)
		if err != nil {
			return err
		}
		if err := ps.attach(ctx, conv); err != nil {
			return err
		}
	}
	id := conversation.NewID()
	ps.openTurns[id] = true
	if err := ps.conv.Do(ctx, Send{id, text, images}); err != nil {
		delete(ps.openTurns, id)
		return fmt.Errorf("send prompt: %w", err)
	}
	ps.titled(text)
	return nil
}

// onEvent shows an event. Of the events before the conversation was opened it shows only those of open turns.
func (ps *plainSession) onEvent(e wire.Event) {
	switch b := e.Body.(type) {
	case wire.ConversationChanged:
		ps.onSettings(b.Settings)
	case wire.ConversationPaused, wire.ConversationResumed:
		if e.Seq > ps.lastBefore {
			_, paused := b.(wire.ConversationPaused)
			ps.onPaused(paused)
		}
	case wire.InputRemoved:
		delete(ps.openTurns, b.TurnID)
	case wire.ConnectionLost:
		if b.Retry == 1 {
			ps.line(lostLine(time.Duration(b.Delay), int(b.Retry), time.Now(), unlimitedWidth))
		}
	}
	if _, line := lineOf(e.Body); line != "" {
		ps.line(line)
	}
	t, ok := e.Body.(wire.Turn)
	if ok {
		ps.spending.on(t.Event, time.Now())
	}
	if ok && (e.Seq > ps.lastBefore || !wire.Kept(t) || ps.openTurns[t.TurnID]) {
		ps.onTurnEvent(t.TurnID, t.Event)
	}
}

func (ps *plainSession) onPaused(paused bool) {
	ps.unpausing = false
	if ps.paused == paused {
		return
	}
	if ps.paused = paused; paused {
		ps.wait = nil
		ps.line(display.Paused)
		return
	}
	ps.line(display.Unpaused)
}

func (ps *plainSession) onTurnEvent(id string, e turn.Event) {
	switch e := e.(type) {
	case turn.Start:
		ps.failed, ps.begun = nil, e
	case turn.TextDelta:
		ps.write(e.Text)
		ps.streamed += e.Text
	case turn.Restarted:
		if ps.streamed != "" {
			ps.line(display.Restarted)
		}
		ps.streamed = ""
	case turn.AssistantMessage:
		ps.onAnswer(e)
	case turn.ApprovalRequested, turn.ApprovalAnswered:
		ps.onApproval(e)
	case turn.ToolCall:
		ps.line(toolCallLine("·", e.ToolCall))
	case turn.ToolResult:
		if e.Failed {
			ps.line("· " + printable.Line(e.Name) + " failed: " + printable.Line(e.Output))
		}
	case turn.Sealed:
		ps.question.on(e)
		ps.onSealed(id, e)
	default:
		ps.onProviderEvent(e)
	}
}

func (ps *plainSession) onAnswer(e turn.AssistantMessage) {
	whole := e.Content.Text()
	from := commonPrefix(whole, ps.streamed)
	if from < len(ps.streamed) {
		ps.line(display.Missed)
		from = strings.LastIndexByte(whole[:from], '\n') + 1
	}
	ps.write(whole[from:])
	ps.finishLine()
	ps.streamed = ""
	if why := display.Unfinished(e); why != "" {
		ps.line(why)
	}
}

func (ps *plainSession) onSealed(id string, e turn.Sealed) {
	ps.finishLine()
	ps.wait, ps.streamed = nil, ""
	if e.Status == turn.Aborted {
		ps.line(display.Canceled)
	}
	delete(ps.openTurns, id)
}

package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// appended is the conversation where lines are only appended: one for each
// transition, one for every 30 s of a wait, and what is said. It reads lines as
// they come and says each when the turns before it are done, or at once; what
// the end of the input leaves under way is waited for.
type appended struct {
	Config
	paint   paint
	talk    Conversation
	feed    *feed
	prompts *prompts
	session conversation.Settings
	last    int64 // what the conversation had told before it was opened

	open     int             // turns that were asked for and are not sealed
	asked    map[string]bool // their ids
	turnID   string
	streamed string
	midline  bool
	calls    []llm.ToolCall
	wait     *display.Wait
	failed   *Failure
	asking   []Approval
	always   map[string]bool
	err      error // of writing
}

// plain has a conversation line by line.
func plain(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &appended{
		Config: c, paint: paint{ascii: display.OnlyASCII(c.Env)}, prompts: loadPrompts(c.History), session: c.Settings,
		asked: map[string]bool{}, always: map[string]bool{},
	}
	err := a.talkOn(ctx)
	if a.feed != nil {
		a.feed.cancel()
	}
	if a.talk != nil {
		if closing := a.talk.Close(); err == nil {
			err = closing
		}
		a.farewell()
	}
	switch {
	case err != nil:
		return err
	case a.failed != nil:
		return a.failed
	}
	return a.err
}

// farewell says how to go on where something is left to go on with.
func (a *appended) farewell() {
	if command := a.Resume(a.talk.ID()); command != "" && (a.open > 0 || a.failed != nil) {
		a.line("To resume: " + command)
	}
}

// talkOn reads, says and shows until there is nothing more to come.
func (a *appended) talkOn(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	lines := a.read(ctx)
	for lines != nil || a.open > 0 || len(a.asking) > 0 {
		var events chan wire.Event
		if a.feed != nil {
			events = a.feed.events
		}
		more := lines
		if a.open >= conversation.QueueBound/2 && len(a.asking) == 0 {
			more = nil // whoever writes into a pipe can wait
		}
		select {
		case <-ctx.Done():
			a.finishLine()
			return nil
		case l, ok := <-more:
			switch {
			case !ok:
				lines = nil
				a.nobody()
			case l.err != nil:
				return l.err
			default:
				if quit, err := a.heard(ctx, l.text); quit || err != nil {
					return err
				}
			}
		case e, ok := <-events:
			if !ok {
				return a.feed.err
			}
			a.take(e)
		case one := <-a.Approvals:
			a.ask(one, lines == nil)
		}
		if a.err != nil {
			return nil // nobody reads any more
		}
	}
	return nil
}

// begin opens the conversation that is to be gone on with, and says what is to
// be said first.
func (a *appended) begin(ctx context.Context) error {
	if a.Config.Conversation != nil {
		if err := a.enter(ctx, a.Config.Conversation); err != nil {
			return err
		}
	}
	if a.Prompt == "" {
		return nil
	}
	return a.say(ctx, a.Prompt)
}

// typed is a line that was typed, or why there will be none.
type typed struct {
	text string
	err  error
}

// read reads lines; one that ends in a backslash goes on with the next. The
// process may end before the input does.
func (a *appended) read(ctx context.Context) <-chan typed {
	lines := make(chan typed)
	give := func(t typed) bool {
		select {
		case lines <- t:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(lines)
		in := bufio.NewReader(a.In)
		var so strings.Builder
		for {
			text, err := in.ReadString('\n')
			more := strings.HasSuffix(strings.TrimRight(text, "\r\n"), `\`) && err == nil
			text = strings.ToValidUTF8(strings.TrimRight(text, "\r\n"), "\uFFFD")
			if more {
				so.WriteString(strings.TrimSuffix(text, `\`) + "\n")
				continue
			}
			so.WriteString(text)
			if strings.TrimSpace(so.String()) != "" && !give(typed{text: so.String()}) {
				return
			}
			so.Reset()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					give(typed{err: fmt.Errorf("reading what is typed: %w", err)})
				}
				return
			}
		}
	}()
	return lines
}

// heard takes in a line that was typed: an answer, a command or something to
// say.
func (a *appended) heard(ctx context.Context, text string) (quit bool, err error) {
	if len(a.asking) > 0 {
		a.answer(strings.ToLower(strings.TrimSpace(text)))
		return false, nil
	}
	if c, ok := parseCommand(text); ok {
		return a.command(ctx, c)
	}
	return false, a.say(ctx, text)
}

// enter begins to show a conversation; the one before is closed.
func (a *appended) enter(ctx context.Context, talk Conversation) error {
	if a.feed != nil {
		a.feed.cancel()
	}
	if a.talk != nil {
		if err := a.talk.Close(); err != nil {
			a.line("× The conversation could not be closed: " + err.Error())
		}
	}
	a.talk, a.open, a.failed, a.turnID, a.wait = talk, 0, nil, "", nil
	view, err := talk.Get(ctx)
	if err != nil {
		return err
	}
	a.session, a.last = view.Settings, view.Last
	a.feed = follow(ctx, talk)
	for _, id := range append(idsOf(view.Inputs), view.Turn) {
		a.expect(id)
	}
	return nil
}

func idsOf(inputs []conversation.Input) []string {
	var ids []string
	for _, in := range inputs {
		ids = append(ids, in.ID)
	}
	return ids
}

// expect notes that a turn will come to its end.
func (a *appended) expect(id string) {
	if id != "" && !a.asked[id] {
		a.asked[id] = true
		a.open++
	}
}

// say says something, in a conversation of its own if there is none yet.
func (a *appended) say(ctx context.Context, text string) error {
	a.prompts.add(text)
	if a.talk == nil {
		talk, err := a.Conversations.New(ctx, a.session)
		if err != nil {
			return err
		}
		if err := a.enter(ctx, talk); err != nil {
			return err
		}
	}
	id := conversation.NewID()
	a.expect(id)
	if _, err := a.talk.Say(ctx, id, text); err != nil {
		a.open--
		return fmt.Errorf("it was not said: %w", err)
	}
	return nil
}

// take shows an event. Of what had happened before the conversation was opened
// it shows nothing but what is still under way.
func (a *appended) take(e wire.Event) {
	switch b := e.Body.(type) {
	case wire.ConversationChanged:
		a.session.Model = b.Model
	case wire.InputRemoved:
		a.done(b.TurnID)
	case wire.ConnectionLost:
		if b.Attempt == 0 {
			a.line(lostLine(time.Duration(b.DelayMs)*time.Millisecond, b.Attempt+1, time.Now(), endless))
		}
	case wire.ConnectionBack:
		a.line("✓ The server is reached again")
	}
	t, ok := wire.ToTurn(e.Body)
	if id := wire.TurnOf(e.Body); ok && (e.Seq > a.last || !wire.Kept(e.Body) || a.asked[id]) {
		a.happened(id, t)
	}
}

// done notes that a turn that was asked for has come to its end.
func (a *appended) done(id string) {
	if a.asked[id] {
		delete(a.asked, id)
		a.open--
	}
}

// happened shows an event of a turn.
func (a *appended) happened(id string, e turn.Event) {
	switch e := e.(type) {
	case turn.Start:
		a.turnID, a.failed = e.ID, nil
	case turn.TextDelta:
		a.write(e.Text)
		a.streamed += e.Text
	case turn.Restarted:
		if a.streamed != "" {
			a.line(display.Restarted)
		}
		a.streamed = ""
	case turn.AssistantMessage:
		a.answered(e)
	case turn.ToolCall:
		a.calls = append(a.calls, e.ToolCall)
		a.line(callLine("·", e.ToolCall))
	case turn.ToolResult:
		a.calls = slices.DeleteFunc(a.calls, func(c llm.ToolCall) bool { return c.ID == e.ID })
		if e.Failed {
			a.line("· " + display.OneLine(e.Name) + " failed: " + display.OneLine(e.Output))
		}
	case turn.Compacted:
		a.line(display.Compacted)
	case turn.Sealed:
		a.sealed(id, e)
	default:
		a.providers(e)
	}
}

func (a *appended) answered(e turn.AssistantMessage) {
	whole := e.Content.Text()
	from := alike(whole, a.streamed)
	if from < len(a.streamed) {
		a.line(display.Missed)
		from = strings.LastIndexByte(whole[:from], '\n') + 1
	}
	a.write(whole[from:])
	a.finishLine()
	a.streamed = ""
	if e.Partial {
		a.line(display.BrokeOff)
	}
}

func (a *appended) sealed(id string, e turn.Sealed) {
	a.finishLine()
	a.turnID, a.wait, a.streamed = "", nil, ""
	if e.Status == turn.Aborted {
		a.line(display.Canceled)
	}
	a.done(id)
}

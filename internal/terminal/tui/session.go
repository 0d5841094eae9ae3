package tui

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/display"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// session is shared by the screen and the plain terminal: the open conversation and its commands.
type session struct {
	Config
	paint    palette
	prompts  *promptHistory
	conv     Conversation // nil: no open conversation
	feed     *feed
	settings conversation.Settings
	question question
	spending spending
	paused   bool // the conversation is
}

func newSession(c Config, paint palette) session {
	return session{Config: c, paint: paint, prompts: loadPrompts(c.History), settings: c.Settings}
}

// leave stops following the conversation. An unanswered question is asked again when the conversation continues.
func (s *session) leave() {
	if s.feed != nil {
		s.feed.cancel()
	}
	s.conv, s.feed, s.question, s.spending, s.paused, s.settings.Title = nil, nil, question{}, spending{}, false, ""
}

func (s *session) id() string {
	if s.conv == nil {
		return ""
	}
	return s.conv.ID()
}

// resumeLine says how to resume the open conversation, or "".
func (s *session) resumeLine() string {
	if s.conv == nil || s.Resume(s.conv.ID()) == "" {
		return ""
	}
	return "To resume: " + printable.Text(s.Resume(s.conv.ID()))
}

const untitled = "New conversation"

func titleOf(s conversation.Settings) string {
	return cmp.Or(printable.Truncate(s.Title, maxTitle), untitled)
}

func (s *session) titled(text string) {
	s.settings.Title = cmp.Or(s.settings.Title, conversation.TitleOf(text))
}

// onSettings adopts settings of the conversation. Without a title the first words remain the title.
func (s *session) onSettings(changed conversation.Settings) {
	changed.Title = cmp.Or(changed.Title, s.settings.Title)
	s.settings = changed
}

var (
	errNoConversation = errors.New("there is no conversation yet")
	errUntold         = fmt.Errorf("%w: it gets its title after the first message", errNoConversation)
)

// order is what a slash command does to the conversation, or what is said instead.
type order struct {
	do     Command // nil: nothing
	say    string
	err    error  // why nothing can be done
	failed string // what could not be done, such as "change the title"
}

// order returns what a command does to the conversation.
func (s *session) order(c slashCommand) order {
	now := s.settings
	switch {
	case c.name == "title" && c.rest == "":
		return order{say: "The title is " + titleOf(now) + "; /title WORDS changes it"}
	case c.name == "title" && s.conv == nil:
		return order{err: errUntold}
	case c.name == "title":
		now.Title = c.rest
		return order{do: Change{now}, say: "The title is now " + titleOf(now), failed: "change the title"}
	case c.name == "model" && c.rest == "":
		return order{say: "The model is " + printable.Line(now.Model) + "; /model NAME switches"}
	case c.name == "model" && s.conv == nil:
		s.settings.Model = c.rest
		return order{say: "The model is " + printable.Line(c.rest)}
	case c.name == "model":
		now.Model = c.rest
		return order{do: Change{now}, say: printable.Line(c.rest) + " answers from the next turn on", failed: "switch the model"}
	case s.conv == nil:
		return order{err: errNoConversation}
	case c.name == "compact":
		return order{do: Compact{conversation.NewID(), c.rest}, failed: "shorten the conversation"}
	case c.name == "pause" && s.paused:
		return order{say: "The conversation is paused; /unpause ends that"}
	case c.name == "pause":
		return order{do: Pause{}, failed: "pause the conversation"}
	case !s.paused:
		return order{say: "The conversation is not paused"}
	}
	return order{do: Unpause{}, failed: "unpause the conversation"}
}

func (s *session) took(o order) {
	if change, ok := o.do.(Change); ok {
		s.settings = change.Settings
	}
}

func compactCommand(instruction string) string {
	return strings.TrimSpace("/compact " + instruction)
}

// lineOf is the line about an event of a turn or of the conversation, and its color; "": none.
func lineOf(event any) (color ink, line string) {
	switch e := event.(type) {
	case wire.RecordLost:
		return red, display.LostPart
	case wire.ConnectionBack:
		return green, "✓ Reconnected to the server"
	case turn.Compacted:
		return grey, display.CompactedLine(e)
	case turn.Recovered:
		return green, display.Recovered(e.Retries, e.Waited)
	case turn.MCPRetry:
		return amber, display.MCPRetry(e)
	case turn.MCPRecovered:
		return green, display.Recovered(e.Retries, e.Waited)
	case turn.Switched:
		return amber, display.Switched(e)
	}
	return color, ""
}

// failureText describes a failure: what happened, its details, that nothing is lost, and which key tries again,
// waits for a usage window or asks another model, if that can help.
func failureText(e turn.Error, wait, other, again string) []string {
	lines := []string{display.Headline(e, time.Now())}
	for _, line := range display.Details(e) {
		lines = append(lines, "  "+line)
	}
	if asks := display.LongerWait(e, ""); asks != "" && !display.OfWindow(e) {
		lines = append(lines, "  "+asks)
	}
	kept := "  Nothing is lost: the conversation is kept."
	switch {
	case e.OfImages():
		kept += " " + other + " changes the model,"
	case display.OfWindow(e) && display.MayPass(e):
		kept += " " + wait + " waits for it, " + other + " changes the model,"
	case !display.MayPass(e):
		return append(lines, kept)
	}
	return append(lines, kept+" "+again+" tries again.")
}

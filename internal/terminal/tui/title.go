package tui

import (
	"cmp"
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
)

// untitled stands for the title of a conversation in which nothing was said so far.
const untitled = "New conversation"

// titleOf returns the title of a conversation as lists show it.
func titleOf(s conversation.Settings) string {
	return cmp.Or(printable.Truncate(s.Title, maxTitle), untitled)
}

// errUntold is the error of a title for a conversation that does not exist yet.
var errUntold = errors.New("a conversation gets its title after the first message")

// titleHint says what the title is.
func titleHint(s conversation.Settings) string {
	return "The title is " + titleOf(s) + "; /title WORDS changes it"
}

// setTitle sets the title of the conversation, or shows it.
func (m *model) setTitle(title string) tea.Cmd {
	m.clearComposer()
	switch {
	case title == "":
		m.showHint(titleHint(m.settings))
		return nil
	case m.conv == nil:
		m.showHint("There is no conversation yet: " + errUntold.Error())
		return nil
	}
	s := m.settings
	s.Title = title
	return m.do(Change{s}, func(m *model, err error) {
		if err != nil {
			m.printError("Could not change the title: " + err.Error())
			return
		}
		m.settings.Title = title
		m.printWrapped(m.paint.faint, "· "+titledLine(title))
	})
}

// titledLine says that a conversation has a title now.
func titledLine(title string) string {
	return "The title is now " + printable.Truncate(title, maxTitle)
}

// onSettings takes over settings of the conversation. Without a title it keeps the first words.
func (m *model) onSettings(s conversation.Settings) {
	s.Title = cmp.Or(s.Title, m.settings.Title)
	m.settings = s
}

// setTitle sets the title of the conversation, or shows it.
func (ps *plainSession) setTitle(ctx context.Context, title string) error {
	if ps.conv == nil {
		return errUntold
	}
	v, err := ps.conv.Get(ctx)
	if err != nil {
		return err
	}
	if title == "" {
		ps.line(titleHint(v.Settings))
		return nil
	}
	v.Settings.Title = title
	if err := ps.conv.Do(ctx, Change{v.Settings}); err != nil {
		return err
	}
	ps.line("· " + titledLine(title))
	return nil
}

package tui

import (
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/store"
)

// say says something in the conversation, and makes one if there is none. What
// was said waits here until it was taken, one after the other.
func (m *model) say(text string) tea.Cmd {
	m.prompts.add(text)
	m.unsaid = append(m.unsaid, input{conversation.NewID(), text})
	return m.pump()
}

// pump goes on with saying what is not said yet.
func (m *model) pump() tea.Cmd {
	switch {
	case len(m.unsaid) == 0 || m.opening || m.saying:
		return nil
	case m.talk == nil:
		return m.create()
	case m.feed == nil: // first it is followed: nothing of the answer is missed
		return nil
	}
	m.saying = true
	ctx, talk, in := m.ctx, m.talk, m.unsaid[0]
	return run(func() did {
		_, err := talk.Say(ctx, in.id, in.text)
		return func(m *model) tea.Cmd {
			m.saying = false
			m.unsaid = m.unsaid[1:]
			if err != nil {
				m.trouble("It was not said: " + err.Error())
				m.giveBack(in.text, "what was not said can be called up with ↑")
			} else {
				m.accepted(talk, in)
			}
			return m.pump()
		}
	})
}

// accepted shows what was taken and has not had its turn yet: the feed may have
// told of both already.
func (m *model) accepted(talk Conversation, in input) {
	if talk == m.talk && !m.known[in.id] {
		m.queued(in.id, in.text)
	}
}

// queued shows an input that waits for its turn, or its other words.
func (m *model) queued(id, text string) {
	m.known[id] = true
	for i, in := range m.queue {
		if in.id == id {
			m.queue[i].text = text
			return
		}
	}
	m.queue = append(m.queue, input{id, text})
}

// unqueue takes away an input that does not wait any more.
func (m *model) unqueue(id string) {
	if id != "" {
		m.known[id] = true
		m.queue = slices.DeleteFunc(m.queue, func(in input) bool { return in.id == id })
	}
}

// takeBack puts what was queued last back into the composer.
func (m *model) takeBack() tea.Cmd {
	if len(m.queue) == 0 {
		return nil
	}
	ctx, talk, in := m.ctx, m.talk, m.queue[len(m.queue)-1]
	return run(func() did {
		err := talk.Remove(ctx, in.id)
		return func(m *model) tea.Cmd {
			switch {
			case errors.Is(err, conversation.ErrInput):
				m.tell("It has its turn already")
			case err != nil:
				m.trouble("It could not be taken back: " + err.Error())
			default:
				m.unqueue(in.id)
				m.giveBack(in.text, "what was taken back can be called up with ↑")
			}
			return nil
		}
	})
}

// steer has the turn under way take up what was queued first.
func (m *model) steer() tea.Cmd {
	ctx, talk, in := m.ctx, m.talk, m.queue[0]
	m.tell("The model is told as soon as it is asked again")
	return run(func() did {
		if err := talk.Steer(ctx, in.id); err != nil && !errors.Is(err, conversation.ErrInput) {
			return func(m *model) tea.Cmd {
				m.trouble("It could not be handed over: " + err.Error())
				return nil
			}
		}
		return nil
	})
}

// titleBound is how long a conversation's title is, in letters.
const titleBound = 60

// create makes a conversation for what was said first.
func (m *model) create() tea.Cmd {
	m.opening = true
	ctx, talks, s := m.ctx, m.Conversations, m.session
	s.Title = ""
	return run(func() did { return opened(talks.New(ctx, s)) })
}

// open opens a conversation.
func (m *model) open(id string) tea.Cmd {
	m.opening = true
	ctx, talks := m.ctx, m.Conversations
	return run(func() did { return opened(talks.Open(ctx, id)) })
}

// opened takes in what came of opening a conversation.
func opened(talk Conversation, err error) did {
	return func(m *model) tea.Cmd {
		m.opening = false
		if err == nil {
			return m.enterTalk(talk)
		}
		switch {
		case errors.Is(err, conversation.ErrNone):
			m.trouble("There is no such conversation")
		case errors.Is(err, store.ErrInUse):
			m.trouble("That conversation is open in another terminal")
		default:
			m.trouble("The conversation could not be opened: " + err.Error())
		}
		var back []string
		for _, in := range m.unsaid {
			back = append(back, in.text)
		}
		m.unsaid = nil
		m.giveBack(strings.Join(back, "\n"), "what was not said can be called up with ↑")
		return nil
	}
}

// enterTalk begins to show a conversation; the one before is closed. Not before:
// who cannot have the other keeps what is there.
func (m *model) enterTalk(talk Conversation) tea.Cmd {
	closing := m.leaveTalk()
	m.talk, m.known, m.always = talk, map[string]bool{}, map[string]bool{}
	ctx := m.ctx
	return tea.Batch(closing, run(func() did {
		view, err := talk.Get(ctx)
		f := follow(ctx, talk)
		return func(m *model) tea.Cmd {
			if m.talk != talk {
				f.cancel()
				return nil
			}
			if err != nil {
				m.trouble("What there is of the conversation cannot be read: " + err.Error())
			} else {
				m.session = view.Settings
			}
			m.feed = f
			m.past = past{last: view.Last, gathers: view.Last > 1}
			return tea.Batch(f.next, m.past.listen(), m.pump())
		}
	}))
}

// leaveTalk ends what is shown of a conversation and closes it.
func (m *model) leaveTalk() tea.Cmd {
	if m.feed != nil {
		m.feed.cancel()
	}
	m.fold(true)
	m.endAnswer()
	if m.talk != nil && (m.turn.id != "" || len(m.queue) > 0) {
		m.print1(m.paint.amber, "· What is under way there is kept: /resume "+m.talk.ID()+" goes on with it")
	}
	m.asking = nil // without an answer: that is asked again when the conversation goes on
	m.feed, m.past, m.turn, m.queue, m.calls, m.wait, m.lost = nil, past{}, turnState{}, nil, nil, nil, nil
	talk := m.talk
	m.talk = nil
	if talk == nil {
		return nil
	}
	return run(func() did {
		if err := talk.Close(); err != nil {
			return func(m *model) tea.Cmd {
				m.trouble("The conversation could not be closed: " + err.Error())
				return nil
			}
		}
		return nil
	})
}

package tui

import (
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/store"
)

// send sends a prompt, and creates a conversation if none is open. Prompts are kept here until they are accepted,
// in order.
func (m *model) send(text string, images ...llm.Image) tea.Cmd {
	m.prompts.add(typed(text))
	m.outbox = append(m.outbox, input{conversation.NewID(), text, images})
	return m.sendNext()
}

// askAgain has the model answer the prompt that returned from a canceled turn. The conversation already has it: if
// it were sent again, the model would read it twice.
func (m *model) askAgain(text string) tea.Cmd {
	m.prompts.remember(text)
	m.turn.returned.id = conversation.NewID()
	ctx, conv, id := m.ctx, m.conv, m.turn.returned.id
	return async(func() outcome {
		err := conv.Do(ctx, Retry{ID: id})
		return func(m *model) tea.Cmd {
			switch {
			case errors.Is(err, conversation.ErrAnswered) && m.conv == conv: // from another terminal
				return m.send(text)
			case err != nil:
				m.notSent(text, err)
			}
			return nil
		}
	})
}

func (m *model) notSent(text string, err error) {
	m.printError("Not sent: " + err.Error())
	m.restoreDraft(text, "↑ recalls the prompt that was not sent")
}

// sendNext sends the next prompt that is not accepted yet.
func (m *model) sendNext() tea.Cmd {
	switch {
	case len(m.outbox) == 0 || m.opening || m.sending:
		return nil
	case m.conv == nil:
		return m.createConversation()
	case m.feed == nil: // subscribe first, so that no part of the answer is missed
		return nil
	}
	m.sending = true
	ctx, conv, in := m.ctx, m.conv, m.outbox[0]
	return async(func() outcome {
		err := conv.Do(ctx, Send{in.id, in.text, in.images})
		return func(m *model) tea.Cmd {
			m.sending = false
			m.outbox = m.outbox[1:]
			switch {
			case err != nil:
				m.notSent(in.text, err)
			case conv == m.conv && !m.knownInputs[in.id]: // else its events came first
				m.onQueued(in.id, in.text)
			}
			return m.sendNext()
		}
	})
}

func (m *model) onQueued(id, text string) {
	m.titled(text)
	m.enqueue(id, text)
}

func (m *model) enqueue(id, text string) {
	text = typed(text)
	m.knownInputs[id] = true
	for i, in := range m.queue {
		if in.id == id {
			m.queue[i].text = text
			return
		}
	}
	m.queue = append(m.queue, input{id: id, text: text})
}

func (m *model) dequeue(id string) {
	if id != "" {
		m.knownInputs[id] = true
		m.queue = slices.DeleteFunc(m.queue, func(in input) bool { return in.id == id })
	}
}

func (m *model) takeBackLast() tea.Cmd {
	if len(m.queue) == 0 {
		return nil
	}
	in := m.queue[len(m.queue)-1]
	return m.do(Remove{in.id}, func(m *model, err error) {
		switch {
		case errors.Is(err, conversation.ErrNotQueued):
			m.showHint("It is already being answered")
		case err != nil:
			m.printError("Could not take it back: " + err.Error())
		default:
			m.dequeue(in.id)
			m.restoreDraft(in.text, "↑ recalls the prompt that was taken back")
		}
	})
}

func (m *model) steer() tea.Cmd {
	m.showHint("The model reads it with its next request")
	return m.do(Steer{m.queue[0].id}, printUnless(conversation.ErrNotQueued, "Could not pass it to the turn"))
}

const maxTitle = 60

func (m *model) createConversation() tea.Cmd {
	m.opening = true
	ctx, convs, s := m.ctx, m.Conversations, m.settings
	return async(func() outcome { return openOutcome(convs.New(ctx, s)) })
}

func (m *model) openConversation(id string) tea.Cmd {
	m.opening = true
	ctx, convs := m.ctx, m.Conversations
	return async(func() outcome { return openOutcome(convs.Open(ctx, id)) })
}

func openOutcome(conv Conversation, err error) outcome {
	return func(m *model) tea.Cmd {
		m.opening = false
		if err == nil {
			return m.showConversation(conv)
		}
		switch {
		case errors.Is(err, conversation.ErrNotFound):
			m.printError("There is no such conversation")
		case errors.Is(err, store.ErrInUse):
			m.printError("That conversation is open in another terminal")
		default:
			m.printError("Could not open the conversation: " + err.Error())
		}
		var texts []string
		for _, in := range m.outbox {
			texts = append(texts, in.text)
		}
		m.outbox = nil
		m.restoreDraft(strings.Join(texts, "\n"), "↑ recalls the prompt that was not sent")
		return nil
	}
}

// showConversation shows a conversation and closes the previous one, which stays open if the new one fails to open.
func (m *model) showConversation(conv Conversation) tea.Cmd {
	closing := m.leaveConversation()
	m.conv, m.knownInputs = conv, map[string]bool{}
	ctx := m.ctx
	return tea.Batch(closing, async(func() outcome {
		view, err := conv.Get(ctx)
		f := follow(ctx, conv)
		return func(m *model) tea.Cmd {
			if m.conv != conv {
				f.cancel()
				return nil
			}
			if err != nil {
				m.printError("Could not read the conversation: " + err.Error())
			} else {
				m.settings = view.Settings
			}
			m.feed = f
			m.replay = replay{last: view.Last, gathering: view.Last > 1}
			return tea.Batch(f.next, m.replay.waitQuiet(), m.sendNext())
		}
	}))
}

// leaveConversation stops showing the conversation and closes it.
func (m *model) leaveConversation() tea.Cmd {
	m.foldFailure(true)
	m.finishAnswer()
	if m.conv != nil && (m.turn.id != "" || len(m.queue) > 0) {
		m.printWrapped(amber, "· The turn in progress is kept: /resume continues it")
	}
	conv := m.conv
	m.leave()
	m.replay, m.turn, m.queue, m.calls, m.wait, m.lost = replay{}, turnState{}, nil, nil, nil, nil
	if conv == nil {
		return nil
	}
	return async(func() outcome {
		if err := conv.Close(); err != nil {
			return func(m *model) tea.Cmd {
				m.printError("Could not close the conversation: " + err.Error())
				return nil
			}
		}
		return nil
	})
}

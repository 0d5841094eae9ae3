// Package turn is an agent's loop as a state machine: the events of a conversation add up to a [State], and
// the state says what is needed next. It asks no model, runs no tool, stores nothing and has no clock;
// package agent does what is needed and applies the events that follow.
//
// A live run and a replay of its kept events are the same thing here: both
// fold events into a State. So another process can resume a conversation in
// the middle of a turn, and no message is sent and no tool run twice.
package turn

import (
	"slices"

	"github.com/ridethrough/ridethrough/llm"
)

// State is a conversation as far as its kept events tell. The zero State is an empty conversation.
type State struct {
	history  []llm.Message // what a model is shown
	open     bool          // a turn is in progress
	answered bool          // nothing is left for a model to answer
	partial  bool          // the last answer broke off
	failed   bool          // of an error; only the seal is missing
	blind    []llm.Name    // the models that have refused a request, maybe for its images

	calls []Call        // of the last answer, while results are missing
	freed []string      // the tools that the user has allowed always
	later []llm.Message // what the user has said meanwhile

	steps     int       // answers in this turn
	switches  int       // models left behind in this turn
	compacted bool      // since the last whole answer
	shortens  *Shorten  // what the turn is for; nil: it answers
	spent     llm.Usage // in this turn
}

// Call is a tool call of the last answer.
type Call struct {
	llm.ToolCall
	Asked  *ApprovalRequested // the user was asked about it; nil: not so far
	Answer Decision           // of the user; "": there is none so far
	Begun  bool               // it is about to be run, or has been: the events do not say which
	Result *llm.ToolResult    // nil: it is not known
}

// Begin returns the events that begin a turn with what the user says, and shows.
func Begin(id, text string, images ...llm.Image) []Event {
	return []Event{Start{ID: id}, UserMessage{Text: text, Images: images}}
}

// Replay returns the state that events add up to.
func Replay(events ...Event) State {
	var s State
	for _, e := range events {
		s = s.Apply(e)
	}
	return s
}

// Need is what has to be done next: [Ask], [Use], [Shorten] or [Seal].
type Need interface{ need() }

// Ask is the need for a model to answer the messages.
type Ask struct {
	Messages []llm.Message
}

// Use is the need to run the tools of the calls that have no result.
type Use struct {
	Calls []Call
}

// Shorten is the need to make the history smaller, as the user asks.
type Shorten struct {
	Instruction string // for the summary; "": none
}

// Seal is the need to seal the turn, which is complete.
type Seal struct{ Status Status }

func (Ask) need()     {}
func (Use) need()     {}
func (Shorten) need() {}
func (Seal) need()    {}

// Next returns what is needed; nil: nothing, no turn is in progress.
func (s State) Next() Need {
	switch {
	case !s.open:
		return nil
	case s.failed:
		return Seal{Failed}
	case len(s.calls) > 0:
		return Use{s.missing()}
	case s.shortens != nil:
		return *s.shortens
	case s.answered:
		return Seal{Done}
	}
	return Ask{s.question()}
}

// continuePrompt has a model complete an answer that broke off, if the user
// says nothing else: no provider takes a prompt that ends in an answer.
const continuePrompt = "Your answer broke off here. Go on where it stopped."

// question returns what a model is to answer.
func (s State) question() []llm.Message {
	if len(s.history) > 0 && s.history[len(s.history)-1].Role == llm.Assistant {
		return append(slices.Clip(s.history), llm.UserMessage(continuePrompt)) // the history stays as it is
	}
	return s.history
}

// missing returns the calls that have no result.
func (s State) missing() []Call {
	var calls []Call
	for _, c := range s.calls {
		if c.Result == nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// Call returns the call with an id in the last answer. False: it has no such call, or all of its calls have results.
func (s State) Call(id string) (Call, bool) {
	i := slices.IndexFunc(s.calls, func(c Call) bool { return c.ID == id })
	if i < 0 {
		return Call{}, false
	}
	return s.calls[i], true
}

// Approval returns the request for approval that is open; nil: none is.
func (s State) Approval() *ApprovalRequested {
	for _, c := range s.calls {
		if c.Asked != nil && c.Answer == "" && c.Result == nil {
			return c.Asked
		}
	}
	return nil
}

// AlwaysAllowed reports whether the user has allowed a tool for the whole conversation.
func (s State) AlwaysAllowed(tool string) bool { return slices.Contains(s.freed, tool) }

// Messages returns the conversation as a model is shown it.
func (s State) Messages() []llm.Message { return s.history }

// Unanswered reports whether a model would have something to answer in another turn without a new message.
func (s State) Unanswered() bool {
	_, ask := s.Clone().Apply(Start{}).Next().(Ask)
	return ask
}

// Steps returns the number of answers in this turn.
func (s State) Steps() int { return s.steps }

// Switches returns the number of models that this turn has left behind.
func (s State) Switches() int { return s.switches }

// Compacted reports whether the history was made smaller since the last answer: once is enough for a step.
func (s State) Compacted() bool { return s.compacted }

// Spent returns the tokens that the answers of this turn have cost.
func (s State) Spent() llm.Usage { return s.spent }

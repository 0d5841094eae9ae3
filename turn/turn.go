// Package turn is an agent's loop as a state machine: what has happened in a
// conversation adds up to a [State], and the state says what is needed next.
// It asks no model, runs no tool, keeps nothing and has no clock; package
// agent does what is needed and applies what came of it.
//
// A live run and a replay of its kept events are the same thing here: both
// fold events into a State. So a conversation can be taken up again in another
// process, in the middle of a turn, without a word said or a tool run twice.
package turn

import (
	"slices"

	"github.com/ridethrough/ridethrough/llm"
)

// State is a conversation as far as its kept events tell. The zero State is
// one in which nothing has been said.
type State struct {
	history  []llm.Message // what a model is shown
	open     bool          // a turn is under way
	answered bool          // nothing is left for a model to answer
	partial  bool          // the last answer broke off
	failed   bool          // of an error; what is missing is the seal
	status   Status        // of the last turn that has ended; "": none has

	calls []Call        // of the last answer, while results are missing
	later []llm.Message // what the user has said meanwhile

	steps     int       // answers in this turn
	switches  int       // models left behind in this turn
	compacted bool      // since the last whole answer
	spent     llm.Usage // in this turn
}

// Call is a tool call of the last answer.
type Call struct {
	llm.ToolCall
	Begun  bool            // it is about to be run, or has been: which, nobody has noted
	Result *llm.ToolResult // nil: it is not known
}

// Begin gives the events that begin a turn with what the user says.
func Begin(id, text string) []Event { return []Event{Start{ID: id}, UserMessage{Text: text}} }

// Replay gives the state that events add up to.
func Replay(events ...Event) State {
	var s State
	for _, e := range events {
		s = s.Apply(e)
	}
	return s
}

// Need is what has to be done next: [Input], [Ask], [Use] or [Seal].
type Need interface{ need() }

// Input: nothing, until somebody says something.
type Input struct{}

// Ask: a model is to be asked for its answer to the messages.
type Ask struct {
	Messages []llm.Message
}

// Use: tools are to be run, those of the calls that have no result.
type Use struct {
	Calls []Call
}

// Seal: the turn has come to its end, which has to be said.
type Seal struct{ Status Status }

func (Input) need() {}
func (Ask) need()   {}
func (Use) need()   {}
func (Seal) need()  {}

// Next says what is needed.
func (s State) Next() Need {
	switch {
	case !s.open:
		return Input{}
	case s.failed:
		return Seal{Failed}
	case len(s.calls) > 0:
		return Use{s.missing()}
	case s.answered:
		return Seal{Done}
	}
	return Ask{s.question()}
}

// onward has a model end an answer that broke off, where the user says nothing
// else: no provider takes a question that ends in an answer.
const onward = "Your answer broke off here. Go on where it stopped."

// question gives what a model is to answer.
func (s State) question() []llm.Message {
	if len(s.history) > 0 && s.history[len(s.history)-1].Role == llm.Assistant {
		return append(slices.Clip(s.history), llm.UserMessage(onward)) // asking changes nothing
	}
	return s.history
}

// missing gives the calls that have no result.
func (s State) missing() []Call {
	var calls []Call
	for _, c := range s.calls {
		if c.Result == nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// Messages gives the conversation as a model would be shown it.
func (s State) Messages() []llm.Message { return s.history }

// Open tells whether a turn is under way.
func (s State) Open() bool { return s.open }

// Unanswered tells whether a model would have something to answer in another
// turn, in which nothing is said.
func (s State) Unanswered() bool {
	_, ask := s.Clone().Apply(Start{}).Next().(Ask)
	return ask
}

// Status gives how the last turn that has ended did so; "": none has.
func (s State) Status() Status { return s.status }

// Steps counts the answers in this turn.
func (s State) Steps() int { return s.steps }

// Switches counts the models that this turn has left behind.
func (s State) Switches() int { return s.switches }

// Compacted tells whether the history was made smaller since the last answer:
// once is enough for a step.
func (s State) Compacted() bool { return s.compacted }

// Spent gives what the answers of this turn have cost.
func (s State) Spent() llm.Usage { return s.spent }

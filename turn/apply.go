package turn

import (
	"slices"

	"github.com/ridethrough/ridethrough/llm"
)

// Apply returns the state after an event. A transient event changes nothing. Like append it may use the
// memory of s: continue with the result, or with a [State.Clone].
func (s State) Apply(e Event) State {
	switch e := e.(type) {
	case Start:
		return s.start(e)
	case UserMessage:
		return s.addUserMessage(userMessage(e))
	case AssistantMessage:
		return s.addAnswer(e)
	case ApprovalRequested:
		return s.updateCall(func(c *Call) bool { return c.ID == e.ID }, func(c *Call) { c.Asked = &e })
	case ApprovalAnswered:
		return s.answer(e)
	case ToolCall:
		return s.updateCall(func(c *Call) bool { return c.ID == e.ID && !c.Begun }, func(c *Call) { c.Begun = true })
	case ToolResult:
		return s.updateCall(func(c *Call) bool { return c.ID == e.ID }, func(c *Call) { c.Result = &e.ToolResult })
	case Usage:
		s.spent = s.spent.Add(e.Usage)
	case Compacted:
		return s.compact(e)
	case Switched:
		s.switches++
	case Error:
		return s.fail(e)
	case Sealed:
		return s.seal()
	}
	return s
}

// Clone returns a state that shares no memory that Apply would use.
func (s State) Clone() State {
	s.history = slices.Clone(s.history)
	s.calls = slices.Clone(s.calls)
	s.later = slices.Clone(s.later)
	s.blind = slices.Clone(s.blind)
	return s
}

// start begins a turn. One that was never sealed ends where it stands.
func (s State) start(e Start) State {
	if s.open {
		s = s.seal()
	}
	s.open, s.failed, s.compacted = true, false, false
	s.steps, s.switches, s.spent = 0, 0, llm.Usage{}
	s.answered = len(s.history) == 0 || s.history[len(s.history)-1].Role == llm.Assistant && !s.partial
	if e.Compact {
		s.shortens = &Shorten{e.Instruction}
	}
	return s
}

// addUserMessage adds what the user says. Between a model's calls and their
// results there is no place for it: providers refuse that.
func (s State) addUserMessage(m llm.Message) State {
	if len(s.calls) > 0 {
		s.later = append(s.later, m)
	} else {
		s.history = append(s.history, m)
	}
	s.answered = false
	return s
}

// addAnswer adds a model's answer.
func (s State) addAnswer(e AssistantMessage) State {
	s = s.closeCalls("There is no result.")
	s.steps++
	s.history, s.partial = s.question(), e.Partial
	if len(e.Content) > 0 { // providers refuse a message without any
		s.history = append(s.history, llm.AssistantMessage(e.Name, e.Content...))
	}
	if e.Partial {
		return s
	}
	for _, c := range e.Content.Calls() {
		s.calls = append(s.calls, Call{ToolCall: c})
	}
	s.compacted, s.answered = false, len(s.calls) == 0
	return s
}

// updateCall changes the first call without a result that matches. The last result ends the step.
func (s State) updateCall(matches func(*Call) bool, change func(*Call)) State {
	i := 0
	for i < len(s.calls) && (s.calls[i].Result != nil || !matches(&s.calls[i])) {
		i++
	}
	if i == len(s.calls) {
		return s
	}
	change(&s.calls[i])
	if len(s.missing()) == 0 {
		return s.closeCalls("")
	}
	return s
}

// answer notes what the user has decided about a call.
func (s State) answer(e ApprovalAnswered) State {
	c, asked := s.Call(e.ID)
	if asked && c.Asked != nil && e.Decision == AllowAlways && !s.AlwaysAllowed(c.Name) {
		s.freed = append(slices.Clip(s.freed), c.Name)
	}
	return s.updateCall(func(c *Call) bool { return c.ID == e.ID }, func(c *Call) { c.Answer = e.Decision })
}

// closeCalls ends a step of tool calls: the results go into the history in the order of the calls, and after
// them what the user has said meanwhile. A call without a result gets the text as one, since no provider
// takes a call without a result.
func (s State) closeCalls(text string) State {
	if len(s.calls) > 0 {
		results := make([]llm.ToolResult, len(s.calls))
		for i, c := range s.calls {
			results[i] = llm.ToolResult{ID: c.ID, Name: c.Name, Output: text, Failed: true}
			if c.Result != nil {
				results[i] = *c.Result
			}
		}
		s.history = append(s.history, llm.ToolMessage(results...))
	}
	s.history = append(s.history, s.later...)
	s.calls, s.later = nil, nil
	return s
}

// seal ends the turn.
func (s State) seal() State {
	s = s.closeCalls("The turn ended before this was answered.")
	s.open, s.failed, s.shortens = false, false, nil
	return s
}

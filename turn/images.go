package turn

import (
	"slices"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
)

// userMessage returns what a user says as a model is shown it. In place of an image whose file is lost it has a text.
func userMessage(e UserMessage) llm.Message {
	m := llm.UserMessage(e.Text, e.Images...)
	return withoutImages(m, "is not in the record any more", func(i llm.Image) bool { return i.Data == nil })
}

// withoutImages returns a message with a text in the place of some of its images.
func withoutImages(m llm.Message, why string, some func(llm.Image) bool) llm.Message {
	if !slices.ContainsFunc(m.Content.Images(), some) {
		return m
	}
	m.Content = slices.Clone(m.Content)
	for at, b := range m.Content {
		if i, ok := b.(llm.Image); ok && some(i) {
			m.Content[at] = llm.Text{Text: "[An image" + named(i) + " " + why + ".]\n"}
		}
	}
	return m
}

// named returns the name of an image behind a space.
func named(i llm.Image) string {
	if i.Name == "" {
		return ""
	}
	return " (" + i.Name + ")"
}

// refusals are the faults that the images of a request may have caused, whatever the provider says of it.
const refusals = 1<<fault.Invalid | 1<<fault.Refused | 1<<fault.TooLong

// fail ends the turn with an error, and notes a model that may not take the images that it was shown.
func (s State) fail(e Error) State {
	s.failed = true
	shown := slices.ContainsFunc(s.history, func(m llm.Message) bool { return len(m.Content.Images()) > 0 })
	if shown && e.Fault != nil && fault.Set(refusals).Has(e.Fault.Kind) && !slices.Contains(s.blind, e.Name) {
		s.blind = append(slices.Clip(s.blind), e.Name)
	}
	return s
}

// ShownTo returns messages of the conversation as one model is shown them: one that has refused a request with images
// gets those of the last user message only. Otherwise it would refuse every later turn as well.
func (s State) ShownTo(model llm.Name, messages []llm.Message) []llm.Message {
	if !slices.Contains(s.blind, model) {
		return messages
	}
	messages = slices.Clone(messages)
	last := true
	for i, m := range slices.Backward(messages) {
		if m.Role != llm.User {
			continue
		}
		if !last {
			messages[i] = withoutImages(m, "was here, which this model has refused", func(llm.Image) bool { return true })
		}
		last = false
	}
	return messages
}

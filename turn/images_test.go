package turn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
)

var picture = llm.Image{ID: "1", Name: "a.png", MediaType: "image/png", Bytes: 3, Width: 750, Height: 100, Data: []byte("png")}

// shown returns what a model is shown: texts, and the names of images.
func shown(messages []llm.Message) (all []string) {
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Text:
				all = append(all, strings.TrimSpace(b.Text))
			case llm.Image:
				all = append(all, "image "+b.Name)
			}
		}
	}
	return all
}

func TestState_ShowsImagesBeforeTheText(t *testing.T) {
	s := turn.Replay(turn.Begin("1", "What is this?", picture)...)
	if diff := cmp.Diff([]string{"image a.png", "What is this?"}, shown(s.Messages())); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got := s.Tokens(); got != 101+4 {
		t.Errorf("tokens of an image of 75 000 pixels and 13 letters: got %d, want 105", got)
	}
}

func TestState_LostImageIsSaid(t *testing.T) {
	lost := picture
	lost.Data = nil
	s := turn.Replay(turn.Begin("1", "What is this?", lost)...)
	want := []string{"[An image (a.png) is not in the record any more.]", "What is this?"}
	if diff := cmp.Diff(want, shown(s.Messages())); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestState_RefusedImagesAreShownOnce(t *testing.T) {
	refusal := turn.NewError(&fault.Error{Kind: fault.Invalid, Status: 400, Images: true}, 0, 0)
	refusal.Name = who
	events := append(turn.Begin("1", "What is this?", picture), refusal, turn.Sealed{Status: turn.Failed}, turn.Start{ID: "2"})
	other := llm.Name{Provider: "openai", Model: "gpt"}
	s := turn.Replay(events...)
	if diff := cmp.Diff([]string{"image a.png", "What is this?"}, shown(s.ShownTo(who, s.Messages()))); diff != "" {
		t.Errorf("the same question again (-want +got):\n%s", diff)
	}
	s = s.Clone().Apply(turn.UserMessage{Text: "Never mind."})
	want := []string{"[An image (a.png) was here, which this model has refused.]", "What is this?", "Never mind."}
	if diff := cmp.Diff(want, shown(s.ShownTo(who, s.Messages()))); diff != "" {
		t.Errorf("the next question, to the model that has refused (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"image a.png", "What is this?", "Never mind."}, shown(s.ShownTo(other, s.Messages()))); diff != "" {
		t.Errorf("the next question, to another model (-want +got):\n%s", diff)
	}
}

func TestState_PassingFaultHidesNoImage(t *testing.T) {
	e := turn.NewError(busy, 3, 0)
	e.Name = who
	s := turn.Replay(append(turn.Begin("1", "What is this?", picture), e, turn.Sealed{Status: turn.Failed}, turn.Start{ID: "2"}, turn.UserMessage{Text: "Well?"})...)
	if diff := cmp.Diff([]string{"image a.png", "What is this?", "Well?"}, shown(s.ShownTo(who, s.Messages()))); diff != "" {
		t.Errorf("after an outage (-want +got):\n%s", diff)
	}
}

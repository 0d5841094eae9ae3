package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/agent"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/llm/llmtest"
	"github.com/ridethrough/ridethrough/turn"
)

var blind = &fault.Error{Kind: fault.Invalid, Status: 500, Message: "this model is missing data required for image input", Images: true}

func TestRun_ImagesReachTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		picture := llm.Image{Name: "a.png", MediaType: "image/png", Data: []byte("png")}
		first, second := llmtest.New(large), llmtest.New(small, llmtest.Fails(blind))
		first.Then = llmtest.Fails(spent)
		p := play(t.Context(), agent.Agent{Model: first, Fallback: []llm.Model{second}, Retry: patient()}, turn.State{}, turn.Begin("", "What is this?", picture)...)
		last, _ := p.kept[len(p.kept)-2].(turn.Error)
		if !last.OfImages() || last.Name != small || last.Retries != 0 {
			t.Errorf("a fallback that takes no images: got %v, want its own error without a retry", last)
		}
		for _, m := range []*llmtest.Model{first, second} {
			if got := m.Requests(); len(got) != 1 || len(got[0].Messages[0].Content.Images()) != 1 {
				t.Errorf("%v: got %d requests, want one with the image", m.Name(), len(got))
			}
		}
	})
}

func TestRun_RefusedImageDoesNotFailLaterTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		picture := llm.Image{Name: "a.png", MediaType: "image/png", Data: []byte("png")}
		m := llmtest.New(large, llmtest.Fails(blind), llmtest.Says("Hello."))
		w := agent.Agent{Model: m, Retry: patient()}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "What is this?", picture)...)
		play(t.Context(), w, turn.Replay(p.kept...), turn.Begin("", "Hi")...)
		asked := m.Requests()
		if len(asked) != 2 {
			t.Fatalf("requests: got %d, want 2", len(asked))
		}
		first := asked[1].Messages[0]
		if len(first.Content.Images()) > 0 || !strings.Contains(first.Text(), "a.png") {
			t.Errorf("the message with the refused image in the next turn: got %v, want a text in its place", first)
		}
	})
}

func TestRun_SummaryNamesImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		picture := llm.Image{Name: "a.png", MediaType: "image/png", Data: []byte("png")}
		m := llmtest.New(large, llmtest.Says("A cat."), llmtest.Says("summary"))
		w := agent.Agent{Model: m, Retry: patient()}
		p := play(t.Context(), w, turn.State{}, turn.Begin("", "What is this?", picture)...)
		play(t.Context(), w, turn.Replay(p.kept...), turn.Start{Compact: true})
		if got := m.Requests()[1].Messages[0].Text(); !strings.Contains(got, "user shows an image a.png") {
			t.Errorf("what is summarized: got %q, want the image in words", got)
		}
	})
}

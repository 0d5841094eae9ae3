package agent

import (
	"context"
	"iter"
	"slices"

	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/preamble"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/retry"
)

// resume returns what asks the model again for an answer that has broken off, or for the rest of its text; nil: the
// answer stays as it is. again asks for all of it.
func (a *attempt) resume(caller *preamble.Caller, again retry.Rest[llm.Part]) retry.Rest[llm.Part] {
	so := a.answer // a copy, whose block of text can be ended
	content := slices.Clone(so.Content())
	last, terms := len(content)-1, a.TermsAt(a.model.Name())
	switch {
	case terms.CompleteOff, a.ctx.Err() != nil:
		return nil
	case content.Text() == "":
		return a.restart(again)
	case !terms.CompleteText, a.continued == api.MaxContinuations, len(content.Calls()) > 0:
		return nil
	}
	said, ok := content[last].(llm.Text)
	if !ok {
		return nil
	}
	if _, err := api.NewRest(said.Text); err != nil {
		return nil
	}
	used := api.Tokens(content.Text())
	if a.MaxTokens > 0 && a.MaxTokens < used+leastRest {
		return nil
	}
	a.continued++
	spent := a.answer.Usage
	spent.Output = max(spent.Output, used)
	return func(ctx context.Context, _ int) iter.Seq2[llm.Part, error] {
		text, _ := api.NewRest(said.Text)
		r := &rest{text: text, spent: spent}
		return r.parts(a.model.Stream(preamble.With(ctx, caller), a.restOf(content, used, text.Ask())))
	}
}

// restart drops an answer that has broken off before its text: of reasoning only deltas were shown, and no call in it
// was run. What a model has cut twice is asked of the next one.
func (a *attempt) restart(again retry.Rest[llm.Part]) retry.Rest[llm.Part] {
	most := api.MaxContinuations
	if !a.route.Last() {
		most = 1
	}
	if a.continued == most && a.route.Last() {
		return nil
	}
	a.lost = a.lost.Add(a.answer.Usage)
	a.answer, a.committed = llm.Collector{}, false
	if a.continued == most {
		return nil
	}
	a.continued++
	return again
}

// leastRest is how many tokens the rest of an answer must have left of the limit.
const leastRest = 64

// restOf returns the request for the rest of an answer: the earlier request, the answer so far, and the question.
func (a *attempt) restOf(said llm.Content, used int, ask string) llm.Request {
	q := a.asked
	q.Messages = append(q.Messages[:len(q.Messages):len(q.Messages)],
		llm.AssistantMessage(a.model.Name(), llm.Text{Text: said.Text()}), llm.UserMessage(ask))
	if q.MaxTokens > 0 {
		q.MaxTokens -= used
	}
	return q
}

// rest makes a second answer into the rest of the first.
type rest struct {
	text  *api.Rest
	spent llm.Usage // of the first
	held  []llm.Part
}

// parts yields the parts of the rest. What comes before the text is not shown.
func (r *rest) parts(second iter.Seq2[llm.Part, error]) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		for part, err := range second {
			var all []llm.Part
			if err == nil {
				all, err = r.join(part)
			}
			for _, p := range all {
				if !yield(p, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// join returns what is shown for a part of the second answer.
func (r *rest) join(part llm.Part) (shown []llm.Part, err error) {
	if u, ok := part.(llm.Usage); ok {
		part = r.spent.Add(u)
	}
	before := r.text.Found()
	said := ""
	switch p := part.(type) {
	case llm.Text:
		said, err = r.text.Add(p.Text)
		part = nil
	case llm.ToolCall:
		said, err = r.text.End(true)
	case llm.End:
		said, err = r.text.End(false)
	case llm.Reasoning:
		if !before {
			return nil, nil
		}
	case llm.Usage:
		if !before {
			r.held = []llm.Part{p} // it is content, and nothing is until the seam is found
			return nil, nil
		}
	}
	if err != nil {
		return nil, retry.Permanent(err)
	}
	if said != "" {
		shown = append(shown, llm.Text{Text: said})
	}
	if !before && r.text.Found() {
		shown = append(shown, r.held...)
	}
	if part != nil {
		shown = append(shown, part)
	}
	return shown, nil
}

package openai

import (
	"slices"

	"github.com/ridethrough/ridethrough/internal/api"
)

// chatContinuation is an answer of Chat Completions.
type chatContinuation struct {
	ids api.Object // the members that identify the first answer
}

func (m *chatContinuation) Check(request api.Object, shown string) api.Obstacle {
	format := api.TextOf(api.At(request.Get("response_format"), "type"))
	choice := api.TextOf(request.Get("tool_choice"))
	switch {
	case api.TextOf(api.At(api.LastOf(request.Get("messages")), "role")) == "assistant", request.Has("continue_final_message"):
		return api.EndsInAnswer
	case choice == "required" || request.Get("tool_choice") != nil && choice == "":
		return api.WantsTool
	case format != "" && format != "text", request.HasAny( // with which servers of one's own force a form of output
		"guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "json_schema", "grammar", "regex", "ebnf"):
		return api.WantsJSON
	case request.HasAny("logprobs", "top_logprobs", "prompt_logprobs"):
		return api.WantsProbs
	case api.Number(request.Get("n")) > 1, request.HasAny("best_of", "use_beam_search"):
		return api.WantsSeveral
	case request.Has("web_search_options"):
		return api.WantsSources
	case request.Has("audio"), len(api.ElementsOf(request.Get("modalities"))) > 1:
		return api.WantsMedia
	case api.StopFits(api.StopsOf(request.Get("stop")), shown):
		return api.StopsThere
	}
	return ""
}

// Extend has a server continue a turn of the model's at the end as vLLM and llama-server are asked to. Ollama does
// without a word, and ignores these.
func (m *chatContinuation) Extend(request api.Object, t api.Turns) (api.Object, error) {
	request, err := api.ExtendMessages(request, t, []string{"max_tokens", "max_completion_tokens"})
	if err != nil || t.Ask != "" {
		return request, err
	}
	return request.Set("continue_final_message", []byte("true")).Set("add_generation_prompt", []byte("false")), nil
}

func (m *chatContinuation) Note(_ *api.Completion, data []byte) {
	if m.ids == nil {
		m.ids = api.Pick(data, "id", "created", "model", "system_fingerprint", "service_tier")
	}
}

func (m *chatContinuation) Join(c *api.Second, f api.Frame) error {
	o, _ := api.ParseObject(f.Data)
	o = o.ReplaceAll(m.ids).Replace("usage", c.Total(o.Child("usage"), "prompt_tokens", "completion_tokens", "total_tokens", nil))
	choices := api.ElementsOf(o.Get("choices"))
	if len(choices) == 0 {
		if c.Found() {
			c.Emit(f, o)
		}
		return nil
	}
	choice, _ := api.ParseObject(choices[0])
	delta, shows, err := joinDelta(c, choice.Child("delta"))
	if err != nil {
		return err
	}
	ends := choice.Has("finish_reason")
	if ends {
		behind, err := c.EndText(false)
		if err != nil {
			return err
		}
		if behind != "" {
			delta = delta.Set("content", api.Quote(behind))
		}
	}
	if shows || ends || delta.Has("content") {
		c.Emit(f, o.Set("choices", api.List(choice.Set("delta", delta.JSON()).JSON())))
	}
	return nil
}

// joinDelta returns what is left of a delta, and whether that is something. The role and the reasoning before
// the seam have been shown by the first answer, or are not.
func joinDelta(c *api.Second, delta api.Object) (left api.Object, shows bool, err error) {
	for _, part := range delta {
		switch {
		case part.Key == "role":
		case part.Key == "content":
			shown := ""
			if said := api.TextOf(part.Value); said != "" {
				if shown, err = c.Add(said); err != nil {
					return nil, false, err
				}
			}
			if shown != "" {
				left, shows = left.With(part.Key, api.Quote(shown)), true
			}
		case !c.Found() && (api.IsEmpty(part.Value) || slices.Contains(reasoningMembers, part.Key)):
		default:
			behind, err := c.EndText(part.Key == "tool_calls")
			if err != nil {
				return nil, false, err
			}
			if behind != "" {
				left = left.Set("content", api.Quote(behind))
			}
			left, shows = append(left, part), shows || !api.IsEmpty(part.Value)
		}
	}
	return left, shows, nil
}

// reasoningMembers are those of a delta that have reasoning, as compatible servers call them.
var reasoningMembers = []string{"reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking"}

var chatPrelude = api.PreludeRules{OnceReasoned: true, Edit: chatAgain}

// chatAgain leaves the second reasoning out, and keeps the first id: readers that assemble chunks reject another. Some
// append roles too.
func chatAgain(p *api.Position, _, data []byte) []byte {
	return api.Edited(data, func(key, value []byte) []byte {
		switch {
		case string(key) == "id" && p.ID != "":
			return []byte(p.ID)
		case string(key) == "choices":
			return api.EditedElements(value, func(choice []byte) []byte { return api.WithoutMembers(choice, "delta", chatRepeats...) })
		}
		return value
	})
}

// chatRepeats are the members of a delta that an answer has once.
var chatRepeats = append([]string{"role"}, reasoningMembers...)

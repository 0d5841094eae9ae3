package bedrock

import "github.com/ridethrough/ridethrough/internal/api"

// converseContinuation is an answer of Bedrock's ConverseStream. Its events are distinguished by their members. Only tool
// calls have an event for their start.
type converseContinuation struct {
	api.BlockMap
}

func (m *converseContinuation) Check(request api.Object, shown string) api.Obstacle {
	choice := request.Child("toolConfig").Child("toolChoice")
	switch {
	case api.TextOf(api.At(api.LastOf(request.Get("messages")), "role")) != "user":
		return api.EndsInAnswer
	case choice.Get("any") != nil, choice.Get("tool") != nil:
		return api.WantsTool
	case request.Has("outputConfig"):
		return api.WantsJSON
	case api.CitesDocuments(request.Get("messages"), "document", "citations", "enabled"):
		return api.WantsSources
	case api.StopFits(api.ElementsOf(request.Child("inferenceConfig").Get("stopSequences")), shown):
		return api.StopsThere
	}
	return ""
}

// Extend leaves the thinking out of the model's turn: the models want it back only before tool calls.
func (m *converseContinuation) Extend(request api.Object, t api.Turns) (api.Object, error) {
	if config := request.Child("inferenceConfig"); config != nil {
		config, err := api.Deduct(config, "maxTokens", t)
		if err != nil {
			return nil, err
		}
		budget := api.Number(api.At(request.Get("additionalModelRequestFields"), "thinking", "budget_tokens"))
		if limit := api.Number(config.Get("maxTokens")); limit > 0 && budget > 0 && budget+api.LeastRest > limit {
			return nil, api.Obstacle("its limit of tokens leaves no room for its thinking")
		}
		request = request.Set("inferenceConfig", config.JSON())
	}
	return api.AddTurns(request, "messages", "assistant", "content", t, api.PlainBlock), nil
}

func (m *converseContinuation) Note(*api.Completion, []byte) {}

func (m *converseContinuation) Join(c *api.Second, f api.Frame) error {
	o, _ := api.ParseObject(f.Data)
	switch {
	case o.Get("role") != nil:
		m.Dropped, m.Second = nil, 0
	case o.Get("delta") != nil:
		return m.joinDelta(c, f, o)
	case o.Get("start") != nil:
		if !c.Ended {
			return api.ErrNoSeam
		}
		c.Emit(f, m.Shift(c, o, "contentBlockIndex"))
	case o.Get("contentBlockIndex") != nil:
		return m.JoinStop(c, f, o, "contentBlockIndex", m.emitText)
	case o.Get("stopReason") != nil && !c.Found():
		return api.ErrNoSeam
	case o.Get("usage") != nil:
		c.Emit(f, o.Replace("usage", c.Total(o.Child("usage"), "inputTokens", "outputTokens", "totalTokens", nil)))
	case c.Found():
		c.Pass(f)
	}
	return nil
}

// joinDelta passes on what the seam leaves of a delta. Reasoning before it is not shown.
func (m *converseContinuation) joinDelta(c *api.Second, f api.Frame, o api.Object) error {
	delta, nth := o.Child("delta"), api.Number(o.Get("contentBlockIndex"))+1
	if m.Second == 0 && delta.Get("text") != nil {
		m.Second = nth
	}
	switch {
	case nth == m.Second && delta.Get("text") != nil:
		shown, err := c.Add(api.TextOf(delta.Get("text")))
		m.emitText(c, shown)
		return err
	case m.Second == 0 && delta.Get("reasoningContent") != nil:
		m.Dropped = append(m.Dropped, nth)
	case !c.Found():
		return api.ErrNoSeam
	default:
		c.Emit(f, m.Shift(c, o, "contentBlockIndex"))
	}
	return nil
}

// emitText passes text on in a delta of the block that was shown; "": nothing.
func (m *converseContinuation) emitText(c *api.Second, s string) {
	if s == "" {
		return
	}
	c.EmitEvent("contentBlockDelta", api.Object{}.With("contentBlockIndex", api.Numeral(c.Completion.Block-1)).With("delta", api.PlainBlock(s)).JSON())
}

// invokePrelude is that of Anthropic's models at Bedrock. The answers of others are not followed.
var invokePrelude = api.PreludeRules{Index: "index", Closes: true}

var conversePrelude = api.PreludeRules{Index: "contentBlockIndex", Closes: true}

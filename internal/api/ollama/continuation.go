package ollama

import (
	"github.com/ridethrough/ridethrough/internal/api"
)

// continuation is an answer of Ollama's chat.
type continuation struct{}

func (m *continuation) Check(request api.Object, shown string) api.Obstacle {
	messages := request.Get("messages")
	switch {
	case messages == nil:
		return "its request has no messages"
	case api.TextOf(api.At(api.LastOf(messages), "role")) == "assistant":
		return api.EndsInAnswer
	case request.Has("format"):
		return api.WantsJSON
	case request.HasAny("logprobs", "top_logprobs"):
		return api.WantsProbs
	case api.StopFits(api.StopsOf(api.At(request.Get("options"), "stop")), shown):
		return api.StopsThere
	}
	return ""
}

// Extend needs no more members for a turn of the model's at the end: Ollama continues it.
func (m *continuation) Extend(request api.Object, t api.Turns) (api.Object, error) {
	if options := request.Child("options"); options != nil {
		options, err := api.Deduct(options, "num_predict", t)
		if err != nil {
			return nil, err
		}
		request = request.Set("options", options.JSON())
	}
	return api.ExtendMessages(request, t, nil)
}

func (m *continuation) Note(*api.Completion, []byte) {}

func (m *continuation) Join(c *api.Second, f api.Frame) error {
	o, _ := api.ParseObject(f.Data)
	message := o.Child("message")
	shown, err := c.Add(api.TextOf(message.Get("content")))
	if err != nil {
		return err
	}
	calls, done := message.Has("tool_calls"), string(o.Get("done")) == "true"
	if calls || done {
		behind, err := c.EndText(calls)
		if err != nil {
			return err
		}
		shown += behind
	}
	if done {
		o = o.Replace("prompt_eval_count", c.Input(api.Number(o.Get("prompt_eval_count")), nil)).
			Replace("eval_count", c.Output(api.Number(o.Get("eval_count"))))
	}
	if shown != "" || calls || done || c.Found() && message.Has("thinking") {
		c.Emit(f, o.Set("message", message.Set("content", api.Quote(shown)).JSON()))
	}
	return nil
}

package seam

import "github.com/ridethrough/ridethrough/internal/dialect"

// ollama is an answer of Ollama's chat.
type ollama struct{}

func (m *ollama) check(request object, shown string) Refusal {
	messages := request.get("messages")
	switch {
	case messages == nil:
		return "its request has no messages"
	case text(at(lastOf(messages), "role")) == "assistant":
		return endsInAnswer
	case request.has("format"):
		return wantsJSON
	case request.hasAny("logprobs", "top_logprobs"):
		return wantsProbs
	case stopFits(stopsOf(at(request.get("options"), "stop")), shown):
		return stopsThere
	}
	return ""
}

// extend needs no more members for a turn of the model's at the end: Ollama continues it.
func (m *ollama) extend(request object, t turns) (object, error) {
	if options := request.child("options"); options != nil {
		options, err := deduct(options, "num_predict", t)
		if err != nil {
			return nil, err
		}
		request = request.set("options", options.bytes())
	}
	return extendMessages(request, t, nil, nil)
}

func (m *ollama) watch(a *Answer, data []byte) {
	for key, value := range dialect.Members(dialect.Member(data, "message")) {
		switch {
		case isEmpty(value):
		case string(key) == "content":
			a.say(text(value))
		case string(key) == "tool_calls":
			a.forbid(hasTool)
		case string(key) == "images":
			a.forbid(hasOther)
		}
	}
	if string(dialect.Member(data, "done")) == "true" {
		a.forbid(hasEnded)
	}
}

func (m *ollama) join(c *rest, f frame) error {
	o, _ := parse(f.data)
	message := o.child("message")
	shown, err := c.Add(text(message.get("content")))
	if err != nil {
		return err
	}
	calls, done := message.has("tool_calls"), string(o.get("done")) == "true"
	if calls || done {
		behind, err := c.endText(calls)
		if err != nil {
			return err
		}
		shown += behind
	}
	if done {
		o = o.replace("prompt_eval_count", c.input(number(o.get("prompt_eval_count")), nil)).
			replace("eval_count", c.output(number(o.get("eval_count"))))
	}
	if shown != "" || calls || done || c.found && message.has("thinking") {
		c.emit(f, o.set("message", message.set("content", quote(shown)).bytes()))
	}
	return nil
}

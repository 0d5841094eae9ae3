package anthropic

import (
	"cmp"
	"slices"

	"github.com/ridethrough/ridethrough/internal/api"
)

// Continuing is an answer of the Messages API.
type Continuing struct {
	Event string // the name of all events; "": each has its own
	api.BlockMap
	input api.Object // the usage that the first answer began with
}

func (m *Continuing) Check(request api.Object, shown string) api.Obstacle {
	choice := api.TextOf(api.At(request.Get("tool_choice"), "type"))
	last := api.TextOf(api.At(api.LastOf(request.Get("messages")), "role"))
	switch {
	case last != "user" && last != "system": // Claude Code's requests end with a message of the system
		return api.EndsInAnswer
	case choice == "any" || choice == "tool":
		return api.WantsTool
	case request.Has("output_format"), api.At(request.Get("output_config"), "format") != nil:
		return api.WantsJSON
	case api.CitesDocuments(request.Get("messages"), "citations", "enabled"):
		return api.WantsSources
	case api.StopFits(api.ElementsOf(request.Get("stop_sequences")), shown):
		return api.StopsThere
	}
	return ""
}

// Extend leaves the thinking out of the model's turn: the API wants it back only before tool calls.
func (m *Continuing) Extend(request api.Object, t api.Turns) (api.Object, error) {
	request, err := api.Deduct(request, "max_tokens", t)
	if err != nil {
		return nil, err
	}
	budget := api.Number(api.At(request.Get("thinking"), "budget_tokens"))
	if budget > 0 && budget+api.LeastRest > api.Number(request.Get("max_tokens")) {
		return nil, api.Obstacle("its limit of tokens leaves no room for its thinking")
	}
	textBlock := func(s string) []byte {
		return api.Object{}.With("type", api.Quote("text")).With("text", api.Quote(s)).JSON()
	}
	return api.AddTurns(request, "messages", "assistant", "content", t, textBlock), nil
}

func (m *Continuing) Note(_ *api.Completion, data []byte) {
	if usage := api.At(data, "message", "usage"); usage != nil {
		m.input = api.Pick(usage, inputs()...)
	}
}

func (m *Continuing) Join(c *api.Second, f api.Frame) error {
	o, _ := api.ParseObject(f.Data)
	switch api.TextOf(o.Get("type")) {
	case "message_start":
		m.Dropped, m.Second = nil, 0
		usage, _ := api.ParseObject(api.At(f.Data, "message", "usage"))
		for _, key := range inputs() {
			c.Usage.Input += api.Number(usage.Get(key))
		}
	case "content_block_start":
		return m.joinStart(c, f, o)
	case "content_block_delta":
		return m.joinDelta(c, f, o)
	case "content_block_stop":
		return m.JoinStop(c, f, o, "index", m.emitText)
	case "message_delta":
		if !c.Found() {
			return api.ErrNoSeam
		}
		c.Emit(f, o.Replace("usage", m.usage(c, o.Child("usage"))))
	default: // message_stop, ping, and what is new
		if c.Found() {
			c.Pass(f)
		}
	}
	return nil
}

// joinStart drops the beginning of what continues the block of text, and of thinking before it.
func (m *Continuing) joinStart(c *api.Second, f api.Frame, o api.Object) error {
	kind := api.TextOf(api.At(o.Get("content_block"), "type"))
	nth := api.Number(o.Get("index")) + 1
	switch {
	case c.Ended:
		c.Emit(f, m.Shift(c, o, "index"))
	case kind == "text" && m.Second == 0:
		m.Second = nth
		return m.show(c, api.TextOf(api.At(o.Get("content_block"), "text")))
	case m.Second == 0 && (kind == "thinking" || kind == "redacted_thinking"):
		m.Dropped = append(m.Dropped, nth)
	default:
		return api.ErrNoSeam
	}
	return nil
}

// joinDelta passes on what the seam leaves of a delta.
func (m *Continuing) joinDelta(c *api.Second, f api.Frame, o api.Object) error {
	delta := o.Child("delta")
	switch nth := api.Number(o.Get("index")) + 1; {
	case slices.Contains(m.Dropped, nth):
	case nth != m.Second || api.TextOf(delta.Get("type")) != "text_delta":
		if !c.Found() {
			return api.ErrNoSeam
		}
		c.Emit(f, m.Shift(c, o, "index"))
	default:
		return m.show(c, api.TextOf(delta.Get("text")))
	}
	return nil
}

// show passes text on.
func (m *Continuing) show(c *api.Second, s string) error {
	shown, err := c.Add(s)
	m.emitText(c, shown)
	return err
}

// emitText passes text on in a delta of the block that was shown; "": nothing.
func (m *Continuing) emitText(c *api.Second, s string) {
	if s == "" {
		return
	}
	delta := api.Object{}.With("type", api.Quote("text_delta")).With("text", api.Quote(s))
	data := api.Object{}.With("type", api.Quote("content_block_delta")).With("index", api.Numeral(c.Completion.Block-1)).With("delta", delta.JSON()).JSON()
	c.EmitEvent(cmp.Or(m.Event, "content_block_delta"), data)
}

// usage returns the usage of the whole answer: the output of both, and the input of the first request.
func (m *Continuing) usage(c *api.Second, second api.Object) []byte {
	if second == nil {
		return nil
	}
	for _, key := range inputs() {
		second = second.Replace(key, m.input.Get(key))
	}
	return second.Replace("output_tokens", c.Output(api.Number(second.Get("output_tokens")))).JSON()
}

// inputs returns the members of usage that count the tokens of a request.
func inputs() []string {
	return []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}
}

// A block of reasoning ends with a signature. The API refuses one that comes back without, and with it the
// conversation: what was shown of a block that broke off must not be kept.

var prelude = api.PreludeRules{Index: "index", Closes: true}

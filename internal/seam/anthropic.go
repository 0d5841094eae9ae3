package seam

// anthropic is an answer of the Messages API.
type anthropic struct {
	input   object // the usage that the first answer began with
	index   int    // of the block of text that was shown
	dropped int    // the second answer's block that is not shown, 1 for its first; 0: none
	second  int    // the second answer's block with the rest, 1 for its first; 0: it has not come
}

func (m *anthropic) check(request object, shown string) Refusal {
	choice := text(at(request.get("tool_choice"), "type"))
	last := text(at(lastOf(request.get("messages")), "role"))
	switch {
	case last != "user" && last != "system": // Claude Code's requests end with a message of the system
		return endsInAnswer
	case choice == "any" || choice == "tool":
		return wantsTool
	case request.has("output_format"), at(request.get("output_config"), "format") != nil:
		return wantsJSON
	case hasCitations(request.get("messages")):
		return wantsSources
	case stopFits(elements(request.get("stop_sequences")), shown):
		return stopsThere
	}
	return ""
}

// hasCitations reports whether a document in a request is to be cited.
func hasCitations(messages []byte) bool {
	for _, message := range elements(messages) {
		for _, block := range elements(at(message, "content")) {
			if string(at(block, "citations", "enabled")) == "true" {
				return true
			}
		}
	}
	return false
}

// extend leaves the thinking out of the model's turn: the API wants it back only before tool calls.
func (m *anthropic) extend(request object, t turns) (object, error) {
	request, err := deduct(request, "max_tokens", t)
	if err != nil {
		return nil, err
	}
	budget := number(at(request.get("thinking"), "budget_tokens"))
	if budget > 0 && budget+leastRest > number(request.get("max_tokens")) {
		return nil, Refusal("its limit of tokens leaves no room for its thinking")
	}
	var said [][]byte
	for _, b := range t.blocks {
		if b != "" {
			said = append(said, textBlock(b))
		}
	}
	model := object{{"role", quote("assistant")}, {"content", list(said...)}}
	user := object{{"role", quote("user")}, {"content", list(textBlock(t.ask))}}
	return request.set("messages", list(append(elements(request.get("messages")), model.bytes(), user.bytes())...)), nil
}

func textBlock(s string) []byte { return object{{"type", quote("text")}, {"text", quote(s)}}.bytes() }

func (m *anthropic) watch(a *Answer, data []byte) {
	switch text(at(data, "type")) {
	case "message_start":
		usage, _ := parse(at(data, "message", "usage"))
		m.input = usage.clone()
	case "content_block_start":
		m.watchStart(a, data)
	case "content_block_delta":
		switch delta := at(data, "delta"); text(at(delta, "type")) {
		case "text_delta":
			a.say(text(at(delta, "text")))
		case "citations_delta":
			a.forbid(hasSources)
		}
	case "content_block_stop":
		a.closed = a.closed || number(at(data, "index")) == m.index
	case "message_delta":
		if at(data, "delta") != nil { // a keepalive has none
			a.forbid(hasEnded)
		}
	}
}

// watchStart notes the beginning of a block. Thinking may come before the text, but not behind it.
func (m *anthropic) watchStart(a *Answer, data []byte) {
	switch block := at(data, "content_block"); text(at(block, "type")) {
	case "text":
		if !isEmpty(at(block, "citations")) {
			a.forbid(hasSources)
			return
		}
		m.index = number(at(data, "index"))
		a.begin()
		a.say(text(at(block, "text")))
	case "thinking", "redacted_thinking":
		if len(a.blocks) > 0 {
			a.forbid(hasOther)
		}
	case "tool_use":
		a.forbid(hasTool)
	default:
		a.forbid(hasOther)
	}
}

func (m *anthropic) join(c *rest, f frame) error {
	o, _ := parse(f.data)
	switch text(o.get("type")) {
	case "message_start":
		m.dropped, m.second = 0, 0
		usage, _ := parse(at(f.data, "message", "usage"))
		for _, key := range inputs() {
			c.usage.input += number(usage.get(key))
		}
	case "content_block_start":
		return m.joinStart(c, f, o)
	case "content_block_delta":
		return m.joinDelta(c, f, o)
	case "content_block_stop":
		return m.joinStop(c, f, o)
	case "message_delta":
		if !c.found {
			return ErrNoSeam
		}
		c.emit(f, o.replace("usage", m.usage(c, o.child("usage"))))
	default: // message_stop, ping, and what is new
		if c.found {
			c.out = append(c.out, f.raw)
		}
	}
	return nil
}

// joinStart drops the beginning of what continues the block of text, and of thinking before it.
func (m *anthropic) joinStart(c *rest, f frame, o object) error {
	kind := text(at(o.get("content_block"), "type"))
	nth := number(o.get("index")) + 1
	switch {
	case c.ended:
		c.emit(f, m.shift(o))
	case kind == "text" && m.second == 0:
		m.second = nth
		return m.show(c, text(at(o.get("content_block"), "text")))
	case m.second == 0 && (kind == "thinking" || kind == "redacted_thinking"):
		m.dropped = nth
	default:
		return ErrNoSeam
	}
	return nil
}

// joinDelta passes on what the seam leaves of a delta.
func (m *anthropic) joinDelta(c *rest, f frame, o object) error {
	delta := o.child("delta")
	switch nth := number(o.get("index")) + 1; {
	case nth == m.dropped:
	case nth != m.second || text(delta.get("type")) != "text_delta":
		if !c.found {
			return ErrNoSeam
		}
		c.emit(f, m.shift(o))
	default:
		return m.show(c, text(delta.get("text")))
	}
	return nil
}

// show passes text on.
func (m *anthropic) show(c *rest, s string) error {
	shown, err := c.Add(s)
	m.emitText(c, shown)
	return err
}

// emitText passes text on in a delta of the block that was shown; "": nothing.
func (m *anthropic) emitText(c *rest, s string) {
	if s == "" {
		return
	}
	delta := object{{"type", quote("text_delta")}, {"text", quote(s)}}
	data := object{{"type", quote("content_block_delta")}, {"index", numeral(m.index)}, {"delta", delta.bytes()}}.bytes()
	c.emitEvent("content_block_delta", data)
}

// joinStop ends the block of text, unless its end was shown.
func (m *anthropic) joinStop(c *rest, f frame, o object) error {
	switch nth := number(o.get("index")) + 1; nth {
	case m.dropped:
	case m.second:
		return c.endBlock(f, m.shift(o), m.emitText)
	default:
		c.emit(f, m.shift(o))
	}
	return nil
}

// shift returns an event with the number that its block has in the first answer.
func (m *anthropic) shift(o object) object {
	return o.replace("index", numeral(number(o.get("index"))+1-m.second+m.index))
}

// usage returns the usage of the whole answer: the output of both, and the input of the first request.
func (m *anthropic) usage(c *rest, second object) []byte {
	if second == nil {
		return nil
	}
	for _, key := range inputs() {
		second = second.replace(key, m.input.get(key))
	}
	return second.replace("output_tokens", c.output(number(second.get("output_tokens")))).bytes()
}

// inputs returns the members of usage that count the tokens of a request.
func inputs() []string {
	return []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}
}

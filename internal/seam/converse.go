package seam

import (
	"slices"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// converse is an answer of Bedrock's ConverseStream. Its events are told apart by their members. Only tool calls have
// an event for their start.
type converse struct {
	index   int   // of the block of text that was shown
	dropped []int // the second answer's blocks that are not shown
	second  int   // the second answer's block with the rest, 1 for its first; 0: it has not come
}

func (m *converse) check(request object, shown string) Refusal {
	choice := request.child("toolConfig").child("toolChoice")
	switch {
	case text(at(lastOf(request.get("messages")), "role")) != "user":
		return endsInAnswer
	case choice.get("any") != nil, choice.get("tool") != nil:
		return wantsTool
	case request.has("outputConfig"):
		return wantsJSON
	case citesDocuments(request.get("messages")):
		return wantsSources
	case stopFits(elements(request.child("inferenceConfig").get("stopSequences")), shown):
		return stopsThere
	}
	return ""
}

// citesDocuments reports whether a document in a request is to be cited.
func citesDocuments(messages []byte) bool {
	for _, message := range elements(messages) {
		for _, block := range elements(at(message, "content")) {
			if string(at(block, "document", "citations", "enabled")) == "true" || at(block, "searchResult") != nil {
				return true
			}
		}
	}
	return false
}

// extend leaves the thinking out of the model's turn: the models want it back only before tool calls.
func (m *converse) extend(request object, t turns) (object, error) {
	if config := request.child("inferenceConfig"); config != nil {
		config, err := deduct(config, "maxTokens", t)
		if err != nil {
			return nil, err
		}
		budget := number(at(request.get("additionalModelRequestFields"), "thinking", "budget_tokens"))
		if limit := number(config.get("maxTokens")); limit > 0 && budget > 0 && budget+leastRest > limit {
			return nil, Refusal("its limit of tokens leaves no room for its thinking")
		}
		request = request.set("inferenceConfig", config.bytes())
	}
	var said [][]byte
	for _, b := range t.blocks {
		if b != "" {
			said = append(said, object{{"text", quote(b)}}.bytes())
		}
	}
	model := object{{"role", quote("assistant")}, {"content", list(said...)}}
	user := object{{"role", quote("user")}, {"content", list(object{{"text", quote(t.ask)}}.bytes())}}
	return request.set("messages", list(append(elements(request.get("messages")), model.bytes(), user.bytes())...)), nil
}

func (m *converse) watch(a *Answer, data []byte) {
	index := number(dialect.Member(data, "contentBlockIndex"))
	switch delta := dialect.Member(data, "delta"); {
	case delta != nil:
		m.watchDelta(a, index, delta)
	case dialect.Member(data, "start") != nil:
		a.forbid(hasTool)
	case dialect.Member(data, "stopReason") != nil:
		a.forbid(hasEnded)
	case dialect.Member(data, "contentBlockIndex") != nil:
		a.closed = a.closed || len(a.blocks) > 0 && index == m.index
	}
}

// watchDelta notes a part of a block. Reasoning may come before the text, but not behind it.
func (m *converse) watchDelta(a *Answer, index int, delta []byte) {
	for key, value := range dialect.Members(delta) {
		switch {
		case string(key) == "text":
			if len(a.blocks) == 0 || index != m.index {
				a.begin()
			}
			m.index = index
			a.say(text(value))
		case string(key) == "citation":
			a.forbid(hasSources)
		case string(key) == "reasoningContent" && len(a.blocks) == 0:
		default:
			a.forbid(hasOther)
		}
	}
}

func (m *converse) join(c *rest, f frame) error {
	o, _ := parse(f.data)
	switch {
	case o.get("role") != nil:
		m.dropped, m.second = nil, 0
	case o.get("delta") != nil:
		return m.joinDelta(c, f, o)
	case o.get("start") != nil:
		if !c.ended {
			return ErrNoSeam
		}
		c.emit(f, m.shift(o))
	case o.get("contentBlockIndex") != nil:
		return m.joinStop(c, f, o)
	case o.get("stopReason") != nil && !c.found:
		return ErrNoSeam
	case o.get("usage") != nil:
		c.emit(f, o.replace("usage", m.usage(c, o.child("usage"))))
	case c.found:
		c.out = append(c.out, f.raw)
	}
	return nil
}

// joinDelta passes on what the seam leaves of a delta. Reasoning before it is not shown.
func (m *converse) joinDelta(c *rest, f frame, o object) error {
	delta, nth := o.child("delta"), number(o.get("contentBlockIndex"))+1
	if m.second == 0 && delta.get("text") != nil {
		m.second = nth
	}
	switch {
	case nth == m.second && delta.get("text") != nil:
		shown, err := c.Add(text(delta.get("text")))
		m.emitText(c, shown)
		return err
	case m.second == 0 && delta.get("reasoningContent") != nil:
		if !slices.Contains(m.dropped, nth) {
			m.dropped = append(m.dropped, nth)
		}
	case !c.found:
		return ErrNoSeam
	default:
		c.emit(f, m.shift(o))
	}
	return nil
}

// emitText passes text on in a delta of the block that was shown; "": nothing.
func (m *converse) emitText(c *rest, s string) {
	if s == "" {
		return
	}
	delta := object{{"text", quote(s)}}
	c.emitEvent("contentBlockDelta", object{{"contentBlockIndex", numeral(m.index)}, {"delta", delta.bytes()}}.bytes())
}

// joinStop ends the block of text, unless its end was shown.
func (m *converse) joinStop(c *rest, f frame, o object) error {
	nth := number(o.get("contentBlockIndex")) + 1
	switch {
	case slices.Contains(m.dropped, nth):
		return nil
	case nth != m.second:
		c.emit(f, m.shift(o))
		return nil
	}
	return c.endBlock(f, m.shift(o), m.emitText)
}

// shift returns an event with the number that its block has in the first answer.
func (m *converse) shift(o object) object {
	return o.replace("contentBlockIndex", numeral(number(o.get("contentBlockIndex"))+1-m.second+m.index))
}

// usage returns the usage of the whole answer.
func (m *converse) usage(c *rest, second object) []byte {
	in, out := c.input(number(second.get("inputTokens")), nil), c.output(number(second.get("outputTokens")))
	total := numeral(number(in) + number(out))
	return second.replace("inputTokens", in).replace("outputTokens", out).replace("totalTokens", total).bytes()
}

package seam

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ridethrough/ridethrough/internal/dialect"
)

// responses is an answer of the Responses API. Its events have numbers, and repeat at the end what they have
// said.
type responses struct {
	ids   object   // the members that identify the first answer
	where object   // the members that identify the text that was shown
	item  []byte   // the id of its item
	ended []string // the events that have ended it
	items [][]byte // all items that are whole

	second  []byte   // the id of the second answer's item with the rest; nil: it has not come
	shift   int      // from its index to that of the first
	dropped [][]byte // the ids of items that are not shown
}

// check wants an answer that the provider does not store: the ids of the first answer would name no stored
// one.
func (m *responses) check(request object, _ string) Refusal {
	choice := text(request.get("tool_choice"))
	format := text(at(request.get("text"), "format", "type"))
	items := elements(request.get("input"))
	switch {
	case string(request.get("store")) != "false", request.hasAny("previous_response_id", "conversation", "background"):
		return "its request lets the provider store it"
	case len(items) > 0 && text(at(items[len(items)-1], "role")) == "assistant":
		return endsInAnswer
	case choice == "required" || request.get("tool_choice") != nil && choice == "":
		return wantsTool
	case format != "" && format != "text":
		return wantsJSON
	case request.has("top_logprobs"), bytes.Contains(request.get("include"), []byte(".logprobs")):
		return wantsProbs
	}
	return ""
}

func (m *responses) extend(request object, t turns) (object, error) {
	request, err := deduct(request, "max_output_tokens", t)
	if err != nil {
		return nil, err
	}
	input := elements(request.get("input"))
	if said := request.get("input"); text(said) != "" {
		input = [][]byte{object{{"role", quote("user")}, {"content", said}}.bytes()}
	}
	said := object{{"type", quote("output_text")}, {"text", quote(strings.Join(t.blocks, ""))}}
	model := object{{"type", quote("message")}, {"role", quote("assistant")}, {"content", list(said.bytes())}}
	user := object{{"type", quote("message")}, {"role", quote("user")}, {"content", quote(t.ask)}}
	return request.set("input", list(append(input, model.bytes(), user.bytes())...)), nil
}

// The events that end a text, in their order.
const (
	textDone = "response.output_text.done"
	partDone = "response.content_part.done"
	itemDone = "response.output_item.done"
)

func (m *responses) watch(a *Answer, data []byte) {
	a.number = max(a.number, number(dialect.Member(data, "sequence_number")))
	switch kind := text(dialect.Member(data, "type")); kind {
	case "response.output_text.delta":
		if m.where == nil {
			m.where = pick(data, "item_id", "output_index", "content_index")
		}
		a.say(text(dialect.Member(data, "delta")))
		if !isEmpty(dialect.Member(data, "logprobs")) {
			a.forbid(wantsProbs)
		}
	case "response.created":
		m.ids = pick(dialect.Member(data, "response"), "id", "created_at")
	case "response.output_item.added":
		m.watchItem(a, data)
	case "response.content_part.added":
		if text(at(data, "part", "type")) != "output_text" || number(dialect.Member(data, "content_index")) > 0 {
			a.forbid(hasOther)
		}
		m.where = pick(data, "item_id", "output_index", "content_index")
	case textDone, partDone, itemDone:
		if kind == itemDone {
			m.items = append(m.items, bytes.Clone(dialect.Member(data, "item")))
		}
		if len(a.blocks) > 0 {
			m.ended, a.closed = append(m.ended, kind), true
		}
	case "response.output_text.annotation.added":
		a.forbid(hasSources)
	case "response.completed", "response.incomplete":
		a.forbid(hasEnded)
	case "response.refusal.delta":
		a.forbid(hasOther)
	}
}

// watchItem notes the beginning of an item. Reasoning may come before the text, but not behind it.
func (m *responses) watchItem(a *Answer, data []byte) {
	item := dialect.Member(data, "item")
	switch kind := text(dialect.Member(item, "type")); {
	case kind == "message" && len(a.blocks) == 0:
		m.item = bytes.Clone(dialect.Member(item, "id"))
		a.begin()
	case kind == "reasoning" && len(a.blocks) == 0:
	case strings.HasSuffix(kind, "_call"):
		a.forbid(hasTool)
	default:
		a.forbid(hasOther)
	}
}

func (m *responses) join(c *rest, f frame) error {
	o, _ := parse(f.data)
	kind := text(o.get("type"))
	id := o.get("item_id")
	if id == nil {
		id = at(o.get("item"), "id")
	}
	mine := id != nil && bytes.Equal(id, m.second)
	switch {
	case kind == "response.created":
		m.second, m.dropped, m.shift = nil, nil, 0
	case kind == "response.in_progress", kind == "response.queued":
	case kind == "response.output_item.added":
		return m.joinItem(c, f, o, id)
	case id != nil && slices.ContainsFunc(m.dropped, func(d []byte) bool { return bytes.Equal(d, id) }):
	case mine:
		return m.joinText(c, f, o, kind)
	case kind == "response.completed", kind == "response.incomplete":
		return m.joinEnd(c, f, o)
	case c.found:
		m.emit(c, f, o)
	case id != nil:
		return ErrNoSeam
	}
	return nil
}

// joinItem drops the beginning of the item with the rest, and of reasoning before it.
func (m *responses) joinItem(c *rest, f frame, o object, id []byte) error {
	kind := text(at(o.get("item"), "type"))
	switch {
	case c.found:
		m.emit(c, f, o)
	case kind == "message" && m.second == nil:
		m.second = bytes.Clone(id)
		m.shift = number(m.where.get("output_index")) - number(o.get("output_index"))
	case kind == "reasoning" && m.second == nil:
		m.dropped = append(m.dropped, bytes.Clone(id))
	default:
		return ErrNoSeam
	}
	return nil
}

// joinText passes on what is left of an event of the item with the rest.
func (m *responses) joinText(c *rest, f frame, o object, kind string) error {
	switch kind {
	case "response.content_part.added":
		if text(at(o.get("part"), "type")) != "output_text" || number(o.get("content_index")) > 0 {
			return ErrNoSeam
		}
	case "response.output_text.delta":
		shown, err := c.Add(text(o.get("delta")))
		m.emitText(c, shown)
		return err
	case textDone:
		shown, err := c.endText(false)
		if err != nil {
			return err
		}
		m.emitText(c, shown)
		m.emitEnd(c, f, kind, o.set("text", quote(m.text(c)+shown)))
	case partDone:
		m.emitEnd(c, f, kind, o.set("part", o.child("part").set("text", quote(m.text(c))).bytes()))
	case itemDone:
		item := o.child("item")
		contents := elements(item.get("content"))
		if !c.found || len(contents) != 1 {
			return ErrNoSeam
		}
		part, _ := parse(contents[0])
		item = item.set("id", m.item).set("content", list(part.set("text", quote(m.text(c))).bytes()))
		m.emitEnd(c, f, kind, o.set("item", item.bytes()))
	default: // annotations, a refusal
		if !c.found {
			return ErrNoSeam
		}
		m.emit(c, f, o.replace("item_id", m.item))
	}
	return nil
}

// text returns the text that was shown.
func (m *responses) text(c *rest) string {
	return string(c.answer.blocks[len(c.answer.blocks)-1])
}

// emitText passes text on in a delta of the item that was shown; "": nothing.
func (m *responses) emitText(c *rest, s string) {
	if s == "" {
		return
	}
	c.answer.number++
	const kind = "response.output_text.delta"
	o := object{{"type", quote(kind)}, {"sequence_number", numeral(c.answer.number)}}
	o = append(append(o, m.where...), member{"delta", quote(s)}, member{"logprobs", []byte("[]")})
	c.emitEvent(kind, o.bytes())
}

// emitEnd passes an event on that ends the text, unless one like it was shown.
func (m *responses) emitEnd(c *rest, f frame, kind string, o object) {
	if !slices.Contains(m.ended, kind) {
		m.emit(c, f, o.replace("item_id", m.item))
	}
}

// emit passes an event on with its number and index in the first answer.
func (m *responses) emit(c *rest, f frame, o object) {
	c.answer.number++
	c.emit(f, o.replace("sequence_number", numeral(c.answer.number)).replace("output_index", numeral(number(o.get("output_index"))+m.shift)))
}

// joinEnd passes on the event that repeats the whole answer.
func (m *responses) joinEnd(c *rest, f frame, o object) error {
	if !c.found {
		return ErrNoSeam
	}
	answer := o.child("response")
	answer = answer.replaceAll(m.ids).replace("output", list(m.items...)).replace("usage", m.usage(c, answer.child("usage")))
	m.emit(c, f, o.set("response", answer.bytes()))
	return nil
}

// usage returns the usage of the whole answer.
func (m *responses) usage(c *rest, second object) []byte {
	if second == nil {
		return nil
	}
	in, out := c.input(number(second.get("input_tokens")), nil), c.output(number(second.get("output_tokens")))
	total := numeral(number(in) + number(out))
	return second.replace("input_tokens", in).replace("output_tokens", out).replace("total_tokens", total).bytes()
}

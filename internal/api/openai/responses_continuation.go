package openai

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/ridethrough/ridethrough/internal/api"
)

// responsesContinuation is an answer of the Responses API. Its events have numbers, and repeat at the end what they have
// said.
type responsesContinuation struct {
	ids   api.Object // the members that identify the first answer
	where api.Object // the members that identify the text that was shown
	item  []byte     // the id of its item
	Ended []string   // the events that have ended it
	items [][]byte   // all items that are whole

	Second  []byte   // the id of the second answer's item with the rest; nil: it has not come
	shift   int      // from its index to that of the first
	Dropped [][]byte // the ids of items that are not shown
}

// Check wants an answer that the provider does not store: the ids of the first answer would name no stored
// one.
func (m *responsesContinuation) Check(request api.Object, _ string) api.Obstacle {
	choice := api.TextOf(request.Get("tool_choice"))
	format := api.TextOf(api.At(request.Get("text"), "format", "type"))
	switch {
	case string(request.Get("store")) != "false", request.HasAny("previous_response_id", "conversation", "background"):
		return "its request lets the provider store it"
	case api.TextOf(api.At(api.LastOf(request.Get("input")), "role")) == "assistant":
		return api.EndsInAnswer
	case choice == "required" || request.Get("tool_choice") != nil && choice == "":
		return api.WantsTool
	case format != "" && format != "text":
		return api.WantsJSON
	case request.Has("top_logprobs"), bytes.Contains(request.Get("include"), []byte(".logprobs")):
		return api.WantsProbs
	}
	return ""
}

func (m *responsesContinuation) Extend(request api.Object, t api.Turns) (api.Object, error) {
	request, err := api.Deduct(request, "max_output_tokens", t)
	if err != nil {
		return nil, err
	}
	if said := request.Get("input"); api.TextOf(said) != "" {
		request = request.Set("input", api.List()).Append("input", api.Object{}.With("role", api.Quote("user")).With("content", said))
	}
	said := api.Object{}.With("type", api.Quote("output_text")).With("text", api.Quote(strings.Join(t.Blocks, "")))
	model := api.Object{}.With("type", api.Quote("message")).With("role", api.Quote("assistant")).With("content", api.List(said.JSON()))
	user := api.Object{}.With("type", api.Quote("message")).With("role", api.Quote("user")).With("content", api.Quote(t.Ask))
	return request.Append("input", model, user), nil
}

// The events that end a text, in their order.
const (
	textDone = "response.output_text.done"
	partDone = "response.content_part.done"
	itemDone = "response.output_item.done"
)

func (m *responsesContinuation) Note(a *api.Completion, data []byte) {
	a.Number = max(a.Number, api.Number(api.Member(data, "sequence_number")))
	switch kind := api.TextOf(api.Member(data, "type")); kind {
	case "response.output_text.delta":
		if m.where == nil {
			m.where = api.Pick(data, "item_id", "output_index", "content_index")
		}
	case "response.created":
		m.ids = api.Pick(api.Member(data, "response"), "id", "created_at")
	case "response.output_item.added":
		if item := api.Member(data, "item"); api.TextOf(api.Member(item, "type")) == "message" {
			if len(a.Blocks) > 0 {
				a.Forbid(api.ShowsOther)
			}
			m.item = bytes.Clone(api.Member(item, "id"))
		}
	case "response.content_part.added":
		if api.TextOf(api.At(data, "part", "type")) != "output_text" || api.Number(api.Member(data, "content_index")) > 0 {
			a.Forbid(api.ShowsOther)
		}
		m.where = api.Pick(data, "item_id", "output_index", "content_index")
	case textDone, partDone, itemDone:
		if kind == itemDone {
			m.items = append(m.items, bytes.Clone(api.Member(data, "item")))
		}
		if len(a.Blocks) > 0 {
			m.Ended = append(m.Ended, kind)
		}
	}
}

func (m *responsesContinuation) Join(c *api.Second, f api.Frame) error {
	o, _ := api.ParseObject(f.Data)
	kind := api.TextOf(o.Get("type"))
	id := o.Get("item_id")
	if id == nil {
		id = api.At(o.Get("item"), "id")
	}
	mine := id != nil && bytes.Equal(id, m.Second)
	switch {
	case kind == "response.created":
		m.Second, m.Dropped, m.shift = nil, nil, 0
	case kind == "response.in_progress", kind == "response.queued":
	case kind == "response.output_item.added":
		return m.joinItem(c, f, o, id)
	case id != nil && slices.ContainsFunc(m.Dropped, func(d []byte) bool { return bytes.Equal(d, id) }):
	case mine:
		return m.joinText(c, f, o, kind)
	case kind == "response.completed", kind == "response.incomplete":
		return m.joinEnd(c, f, o)
	case c.Found():
		m.emit(c, f, o)
	case id != nil:
		return api.ErrNoSeam
	}
	return nil
}

// joinItem drops the beginning of the item with the rest, and of reasoning before it.
func (m *responsesContinuation) joinItem(c *api.Second, f api.Frame, o api.Object, id []byte) error {
	kind := api.TextOf(api.At(o.Get("item"), "type"))
	switch {
	case c.Found():
		m.emit(c, f, o)
	case kind == "message" && m.Second == nil:
		m.Second = bytes.Clone(id)
		m.shift = api.Number(m.where.Get("output_index")) - api.Number(o.Get("output_index"))
	case kind == "reasoning" && m.Second == nil:
		m.Dropped = append(m.Dropped, bytes.Clone(id))
	default:
		return api.ErrNoSeam
	}
	return nil
}

// joinText passes on what is left of an event of the item with the rest.
func (m *responsesContinuation) joinText(c *api.Second, f api.Frame, o api.Object, kind string) error {
	switch kind {
	case "response.content_part.added":
		if api.TextOf(api.At(o.Get("part"), "type")) != "output_text" || api.Number(o.Get("content_index")) > 0 {
			return api.ErrNoSeam
		}
	case "response.output_text.delta":
		shown, err := c.Add(api.TextOf(o.Get("delta")))
		m.emitText(c, shown)
		return err
	case textDone:
		shown, err := c.EndText(false)
		if err != nil {
			return err
		}
		m.emitText(c, shown)
		m.emitEnd(c, f, kind, o.Set("text", api.Quote(m.text(c)+shown)))
	case partDone:
		m.emitEnd(c, f, kind, o.Set("part", o.Child("part").Set("text", api.Quote(m.text(c))).JSON()))
	case itemDone:
		item := o.Child("item")
		contents := api.ElementsOf(item.Get("content"))
		if !c.Found() || len(contents) != 1 {
			return api.ErrNoSeam
		}
		part, _ := api.ParseObject(contents[0])
		item = item.Set("id", m.item).Set("content", api.List(part.Set("text", api.Quote(m.text(c))).JSON()))
		m.emitEnd(c, f, kind, o.Set("item", item.JSON()))
	default: // annotations, a refusal
		if !c.Found() {
			return api.ErrNoSeam
		}
		m.emit(c, f, o.Replace("item_id", m.item))
	}
	return nil
}

// text returns the text that was shown.
func (m *responsesContinuation) text(c *api.Second) string {
	return string(c.Completion.Blocks[len(c.Completion.Blocks)-1])
}

// emitText passes text on in a delta of the item that was shown; "": nothing.
func (m *responsesContinuation) emitText(c *api.Second, s string) {
	if s == "" {
		return
	}
	c.Completion.Number++
	const kind = "response.output_text.delta"
	o := api.Object{}.With("type", api.Quote(kind)).With("sequence_number", api.Numeral(c.Completion.Number))
	o = append(o, m.where...).With("delta", api.Quote(s)).With("logprobs", []byte("[]"))
	c.EmitEvent(kind, o.JSON())
}

// emitEnd passes an event on that ends the text, unless one like it was shown.
func (m *responsesContinuation) emitEnd(c *api.Second, f api.Frame, kind string, o api.Object) {
	if !slices.Contains(m.Ended, kind) {
		m.emit(c, f, o.Replace("item_id", m.item))
	}
}

// emit passes an event on with its number and index in the first answer.
func (m *responsesContinuation) emit(c *api.Second, f api.Frame, o api.Object) {
	c.Completion.Number++
	c.Emit(f, o.Replace("sequence_number", api.Numeral(c.Completion.Number)).Replace("output_index", api.Numeral(api.Number(o.Get("output_index"))+m.shift)))
}

// joinEnd passes on the event that repeats the whole answer.
func (m *responsesContinuation) joinEnd(c *api.Second, f api.Frame, o api.Object) error {
	if !c.Found() {
		return api.ErrNoSeam
	}
	answer := o.Child("response")
	usage := c.Total(answer.Child("usage"), "input_tokens", "output_tokens", "total_tokens", nil)
	answer = answer.ReplaceAll(m.ids).Replace("output", api.List(m.items...)).Replace("usage", usage)
	m.emit(c, f, o.Set("response", answer.JSON()))
	return nil
}

var responsesPrelude = api.PreludeRules{Edit: responsesAgain}

// responsesAgain renumbers events and items.
func responsesAgain(p *api.Position, _, data []byte) []byte {
	return api.Edited(data, func(key, value []byte) []byte {
		switch string(key) {
		case "sequence_number":
			return strconv.AppendInt(nil, int64(p.Frames), 10)
		case "output_index":
			return strconv.AppendInt(nil, int64(api.Number(value)+p.Base), 10)
		}
		return value
	})
}

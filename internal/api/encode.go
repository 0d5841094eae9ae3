package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Forms are what an API writes, by name, as encode.txt in its folder has them: a line "name = form" each, and several
// lines of one name for several frames.
//
// A form is text with names in it, such as $id or ${id}, of values or of other forms. `name:text` is the text if the
// name stands for something, and `!name:text` if it does not. A name may end with a state, such as stop.calls, and is
// for that state of the answer: open, failed, limit, refused, malformed or calls. A name may end with a block's kind, such
// as "add text", and is for that kind. A frame is data, with the event's name before it where the API has one; data that is
// empty is not sent.
type Forms map[string][]string

// ParseForms reads texts of forms. The forms of a text replace those of the texts before it.
func ParseForms(texts ...string) Forms {
	all := Forms{}
	for _, text := range texts {
		here := Forms{}
		for line := range strings.Lines(text) {
			if name, form, ok := strings.Cut(line, " = "); ok && line[0] != '#' {
				here[name] = append(here[name], strings.TrimSuffix(form, "\n"))
			}
		}
		maps.Copy(all, here)
	}
	return all
}

// Forms returns what the API writes; the texts replace forms of it.
func (a *API) Forms(texts ...string) Forms { return ParseForms(slices.Concat(a.is.Forms, texts)...) }

// ErrorBody returns a function that writes an error as the API of a text does. Where that has a status too, it is the one
// of the kind.
func ErrorBody(text string, statuses map[string]int) func(kind, message string) []byte {
	forms := sync.OnceValue(func() Forms { return ParseForms(text) })
	return func(kind, message string) []byte {
		values := map[string]string{"kind": string(Quote(kind)), "message": string(Quote(message)), "http-status": strconv.Itoa(statuses[kind])}
		return []byte(forms().Encoder(JSON, Head{More: values}).Whole("failure"))
	}
}

// Head is what an answer has besides its parts.
type Head struct {
	ID, Model string
	Created   time.Time

	Input, Cached, Written int // tokens of the request: all, and of those the ones read from a cache and written to it
	Output, Reasoning      int // tokens of the answer: all, and of those the ones of reasoning

	More map[string]string // values that only some APIs have, as JSON
}

// Encoder writes one answer: in frames, or whole once it has all parts.
type Encoder struct {
	forms     Forms
	form      Form
	head      Head
	values    map[string]string
	states    []string // the answer's state, and what is also true of it
	blocks    []*encodedBlock
	calls     int
	signature string
	frames    int // that have been written
	output    int // parts of text, of calls and of reasoning so far
	reasoning int
}

// encodedBlock is one block of an answer.
type encodedBlock struct {
	kind       string
	index, nth int // in the answer, and among the calls
	id, name   string
	text       string
}

// Encoder returns one that writes in a form of transmission.
func (f Forms) Encoder(form Form, h Head) *Encoder {
	e := &Encoder{forms: f, form: form, head: h, states: []string{"open"}}
	e.values = map[string]string{
		"id": h.ID, "model": string(Quote(h.Model)), "created": strconv.FormatInt(h.Created.Unix(), 10),
		"time":  string(Quote(h.Created.UTC().Format(time.RFC3339Nano))),
		"input": strconv.Itoa(h.Input), "cached": strconv.Itoa(h.Cached), "written": strconv.Itoa(h.Written),
		"fresh": strconv.Itoa(h.Input - h.Cached - h.Written),
	}
	maps.Copy(e.values, h.More)
	return e
}

// Add adds a part and returns its frames. Blocks are opened before their content and closed after it; the Text of an
// OpenPart is the signature of its reasoning, which is encrypted where Of is SignaturePart. A ToolCallPart without an ID
// gets one. A StopPart is named after the API's word for its reason, OtherStop after that for a limit.
func (e *Encoder) Add(p Part) []byte {
	switch p.Kind {
	case StartPart:
		return e.write("start", nil, "")
	case PingPart:
		return e.write("ping", nil, "")
	case OpenPart, ToolCallPart:
		return e.write("open", e.open(p), "")
	case TextPart, ReasoningPart, ToolInputPart:
		b, text := e.blocks[p.Block-1], p.String()
		b.text += text
		if e.output++; p.Kind == ReasoningPart {
			e.reasoning++
		}
		return e.write("add", b, text)
	case SignaturePart, ClosePart:
		name := map[PartKind]string{SignaturePart: "sign", ClosePart: "close"}[p.Kind]
		return e.write(name, e.blocks[p.Block-1], e.blocks[p.Block-1].text)
	case RefusalPart:
		return e.write("refusal", nil, "")
	case StopPart:
		e.stop(p.Why)
		return e.write("finish", nil, "")
	case EndPart:
		return e.closed(e.write("end", nil, ""))
	}
	return nil
}

// open adds a block.
func (e *Encoder) open(p Part) *encodedBlock {
	b := &encodedBlock{kind: "text", index: len(e.blocks)}
	switch {
	case p.Kind == ToolCallPart:
		b.kind, b.nth, b.id, b.name = "call", e.calls, string(p.ID), string(p.Name)
		e.calls++
	case p.Of == ReasoningPart:
		b.kind, e.signature = "reasoning", string(p.Text)
	case p.Of == SignaturePart:
		b.kind, e.signature = "hidden", string(p.Text)
	}
	e.blocks = append(e.blocks, b)
	return b
}

// stop sets the state of an answer that has stopped, and its output to what the head says.
func (e *Encoder) stop(why StopReason) {
	e.states, e.output, e.reasoning = nil, e.head.Output, e.head.Reasoning
	switch why {
	case OtherStop:
		e.states = append(e.states, "limit")
	case RefusedStop:
		e.states = append(e.states, "refused")
	}
	for _, b := range e.blocks {
		if b.kind == "call" && b.object() == "" {
			e.states = append(e.states, "malformed")
		}
	}
	if e.calls > 0 {
		e.states = append(e.states, "calls")
	}
}

// object returns the arguments of a call if they are a JSON object, otherwise "".
func (b *encodedBlock) object() string {
	switch {
	case b.text == "":
		return "{}"
	case b.text[0] == '{' && json.Valid([]byte(b.text)):
		return b.text
	}
	return ""
}

// Fail returns the frames of an error after the frames that were sent.
func (e *Encoder) Fail(sent string, values map[string]string) []byte {
	failed := *e
	failed.states, failed.frames, failed.output, failed.reasoning = []string{"failed"}, 0, 0, 0
	for n := 1; n > 0; sent = sent[n:] {
		if n = e.form.FrameLen([]byte(sent), 0); n > 0 {
			failed.frames++
		}
	}
	failed.values = maps.Clone(e.values)
	maps.Copy(failed.values, values)
	name := "error"
	if failed.frames == 0 && e.forms["error at first"] != nil {
		name = "error at first"
	}
	return failed.closed(failed.write(name, nil, ""))
}

// closeBroken returns the end of a block of reasoning in an answer that has broken off.
func (e *Encoder) closeBroken(index int) []byte {
	e.states = []string{"failed"}
	return e.write("close", &encodedBlock{kind: "reasoning", index: index}, "")
}

// Whole returns the answer as one body: the form with a name, "whole" for a usual one.
func (e *Encoder) Whole(name string) string {
	return e.expand(strings.Join(e.lookUp(name), ""), nil, "", "")
}

// write returns the frames of a name, for a block or without one.
func (e *Encoder) write(name string, b *encodedBlock, text string) (out []byte) {
	forms := e.lookUp(name)
	if b != nil && e.forms[name+" "+b.kind] != nil {
		forms = e.forms[name+" "+b.kind]
	}
	for _, form := range forms {
		event := ""
		if first := form + " "; 'a' <= first[0] && first[0] <= 'z' || first[0] == '!' {
			event, form, _ = strings.Cut(form, " ")
			event = e.expand(event, b, text, "")
		}
		if data := e.expand(form, b, text, event); data != "" {
			out = append(out, e.frame(event, data)...)
			e.frames++
		}
	}
	return out
}

// frame returns one frame. Among AWS's events a name behind an exclamation mark is that of an exception.
func (e *Encoder) frame(event, data string) []byte {
	switch exception, isException := strings.CutPrefix(event, "!"); {
	case e.form == Lines:
		return []byte(data + "\n")
	case e.form == Array && e.frames == 0:
		return []byte("[" + data)
	case e.form == Array:
		return []byte(",\r\n" + data)
	case e.form == AWSEvents && isException:
		return AWSFrame("exception", exception, []byte(data))
	case e.form == AWSEvents && e.forms["chunks"] != nil:
		return AWSEvent([]byte("chunk"), []byte(data))
	case e.form == AWSEvents:
		return AWSEvent([]byte(event), []byte(data))
	case e.form == Events && e.forms["crlf"] != nil:
		return []byte("data: " + data + "\r\n\r\n")
	case e.form == Events:
		return EventFrame([]byte(event), []byte(data))
	}
	return nil
}

// closed returns the last frames with the end of the array that they are in.
func (e *Encoder) closed(frames []byte) []byte {
	if e.form == Array {
		return append(frames, ']')
	}
	return frames
}

// lookUp returns the forms of a name in the answer's state.
func (e *Encoder) lookUp(name string) []string {
	for _, state := range e.states {
		if forms, ok := e.forms[name+"."+state]; ok {
			return forms
		}
	}
	return e.forms[name]
}

// expand returns a form with what its names stand for.
func (e *Encoder) expand(form string, b *encodedBlock, text, event string) string {
	var out strings.Builder
	for {
		i := strings.IndexAny(form, "$`")
		if i < 0 {
			return out.String() + form
		}
		out.WriteString(form[:i])
		mark, rest := form[i], form[i+1:]
		if mark == '`' {
			inner, behind, _ := strings.Cut(rest, "`")
			name, inner, _ := strings.Cut(inner, ":")
			name, without := strings.CutPrefix(name, "!")
			value := e.value(name, b, text, event)
			if (value == "" || value == `""` || value == "0") == without {
				out.WriteString(e.expand(inner, b, text, event))
			}
			form = behind
			continue
		}
		var name string
		if inner, braced := strings.CutPrefix(rest, "{"); braced {
			name, form, _ = strings.Cut(inner, "}")
		} else {
			end := strings.IndexFunc(rest+" ", func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') })
			name, form = rest[:end], rest[end:]
		}
		out.WriteString(e.value(name, b, text, event))
	}
}

// value returns what a name stands for: what belongs to the frame or its block, to the answer, to its head, or a form.
func (e *Encoder) value(name string, b *encodedBlock, text, event string) string {
	switch name {
	case "type":
		return string(Quote(event))
	case "seq":
		return strconv.Itoa(e.frames)
	case "text":
		return string(Quote(text))
	case "output":
		return strconv.Itoa(e.output)
	case "reasoning":
		return strconv.Itoa(e.reasoning)
	case "unreasoned":
		return strconv.Itoa(e.output - e.reasoning)
	case "total":
		return strconv.Itoa(e.head.Input + e.output)
	case "signature":
		return e.signature
	case "owed": // that of the reasoning, with the first call or, without one, with the rest
		if e.calls > 0 && (b == nil || b.kind != "call" || b.nth > 0) {
			return ""
		}
		return e.signature
	case "answer":
		return e.all("text", false)
	case "said":
		return e.all("text", true)
	case "thoughts":
		return e.all("reasoning", false)
	case "blocks":
		return e.list(true, true)
	case "content":
		return e.list(true, false)
	case "calls":
		return e.list(false, true)
	}
	if b != nil {
		switch name {
		case "index":
			return strconv.Itoa(b.index)
		case "nth":
			return strconv.Itoa(b.nth)
		case "name":
			return b.name
		case "object":
			return b.object()
		case "unparsed": // arguments that are no object
			if b.object() != "" {
				return `""`
			}
			return string(Quote(b.text))
		case "call-id":
			if b.id != "" {
				return b.id
			}
		}
	}
	if value, ok := e.values[name]; ok {
		return value
	}
	return e.expand(strings.Join(e.lookUp(name), ""), b, text, event)
}

// all returns the text of the blocks of a kind, and of calls whose arguments are no object.
func (e *Encoder) all(kind string, unparsed bool) string {
	text := ""
	for _, b := range e.blocks {
		if b.kind == kind || unparsed && b.kind == "call" && b.object() == "" {
			text += b.text
		}
	}
	return string(Quote(text))
}

// list returns the blocks, whole: those of content, of calls, or all.
func (e *Encoder) list(content, calls bool) string {
	var all []string
	for _, b := range e.blocks {
		wanted := b.kind == "call" && calls || b.kind != "call" && content
		if form := e.forms["whole "+b.kind]; wanted && form != nil {
			if whole := e.expand(form[0], b, b.text, ""); whole != "" {
				all = append(all, whole)
			}
		}
	}
	return strings.Join(all, ",")
}

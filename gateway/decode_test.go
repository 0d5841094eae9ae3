package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// decoded is an answer as its client has it. The decoders know nothing of the gateway's: each reads its API's
// stream as the vendor's page describes it, and refuses what does not fit together.
type decoded struct {
	kept      []string // texts and tool calls, in their order
	reasoning []string // with its signature, if it has one
	stop      string
	failed    bool // it ends with an error, or before its end
}

// text adds to a text, or begins one.
func (d *decoded) text(begins bool, s string) {
	if begins || len(d.kept) == 0 || !strings.HasPrefix(d.kept[len(d.kept)-1], "text ") {
		d.kept = append(d.kept, "text ")
	}
	d.kept[len(d.kept)-1] += s
}

// thought adds to the last reasoning.
func (d *decoded) thought(begins bool, s string) {
	if begins || len(d.reasoning) == 0 {
		d.reasoning = append(d.reasoning, "")
	}
	d.reasoning[len(d.reasoning)-1] += s
}

// object is a JSON object.
type object map[string]any

// inside returns what is in nested objects and arrays; nil: there is nothing.
func inside(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := v.(object)
			if !ok {
				plain, _ := v.(map[string]any)
				m = plain
			}
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

func str(v any, path ...any) string { s, _ := inside(v, path...).(string); return s }

// num returns a number; -1: there is none.
func num(v any, path ...any) int {
	if f, ok := inside(v, path...).(float64); ok {
		return int(f)
	}
	return -1
}

// decode decodes an answer in the form of a path's API.
func decode(path, stream string) (d decoded, err error) {
	switch {
	case strings.HasSuffix(path, "/v1/messages"), strings.Contains(path, "RawPredict"):
		return decodeBlocks(events(stream))
	case strings.HasSuffix(path, "invoke-with-response-stream"):
		return decodeBlocks(chunks(stream))
	case strings.HasSuffix(path, "converse-stream"):
		return decodeConverse(stream)
	case strings.HasSuffix(path, "/chat/completions"):
		return decodeChat(events(stream))
	case strings.HasSuffix(path, "/responses"):
		return decodeResponses(events(stream))
	case strings.HasSuffix(path, "alt=sse"):
		return decodeGemini(events(stream))
	case strings.HasSuffix(path, "streamGenerateContent"):
		return decodeGemini(array(stream))
	case strings.HasPrefix(path, "/api/v1"):
		return decodeStudio(events(stream))
	case strings.HasPrefix(path, "/api/"):
		return decodeOllama(stream)
	}
	return decodeCohere(events(stream))
}

// events returns the data of the events of a stream. [DONE] is an object with a member of that name.
func events(stream string) (all []object, err error) {
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	for part := range strings.SplitSeq(stream, "\n\n") {
		last := strings.HasSuffix(stream, "\n\n"+part) // half an event at the end means nothing
		var lines []string
		for line := range strings.SplitSeq(part, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				lines = append(lines, data)
			} else if line != "" && !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "event: ") && !last {
				return all, fmt.Errorf("line %q", line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		if lines[0] == "[DONE]" {
			all = append(all, object{"[DONE]": true})
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(strings.Join(lines, "\n")), &o); err != nil {
			if last {
				continue
			}
			return all, fmt.Errorf("data %q: %w", lines, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// array returns the elements of a JSON array that may be cut between two.
func array(stream string) (all []object, err error) {
	if stream == "" {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(stream))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return nil, fmt.Errorf("an array begins with %v, error %v", begin, err)
	}
	for d.More() {
		var o object
		if err := d.Decode(&o); err == io.EOF || err == io.ErrUnexpectedEOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, o)
	}
	if _, err := d.Token(); err == nil {
		all = append(all, object{"]": true})
	}
	return all, nil
}

// awsPayloads returns the messages of an AWS stream, and their names.
func awsPayloads(stream string) (all []object, names []string, err error) {
	d, r := eventstream.NewDecoder(), strings.NewReader(stream)
	for r.Len() > 0 {
		m, err := d.Decode(r, nil)
		if err != nil {
			return all, names, fmt.Errorf("message: %w", err)
		}
		var o object
		if err := json.Unmarshal(m.Payload, &o); err != nil {
			return all, names, fmt.Errorf("payload %q: %w", m.Payload, err)
		}
		kind := m.Headers.Get(":message-type").String()
		name := m.Headers.Get(":" + kind + "-type").String()
		if kind == "exception" {
			name = kind
		}
		all, names = append(all, o), append(names, name)
	}
	return all, names, nil
}

// chunks returns Anthropic's events in the chunks of an AWS stream.
func chunks(stream string) (all []object, err error) {
	payloads, names, err := awsPayloads(stream)
	for i, p := range payloads {
		switch names[i] {
		case "exception":
			all = append(all, object{"type": "error"})
		case "chunk":
			var bytes []byte
			var o object
			if err := json.Unmarshal([]byte(`"`+str(p, "bytes")+`"`), &bytes); err != nil {
				return all, err
			}
			if err := json.Unmarshal(bytes, &o); err != nil {
				return all, fmt.Errorf("chunk %q: %w", bytes, err)
			}
			all = append(all, o)
		}
	}
	return all, err
}

// decodeBlocks reads Anthropic's events.
func decodeBlocks(all []object, err error) (decoded, error) {
	var d decoded
	starts, blocks, open := 0, 0, ""
	for _, e := range all {
		kind, index := str(e, "type"), num(e, "index")
		switch kind {
		case "message_start":
			starts++
		case "content_block_start":
			if index != blocks || open != "" {
				return d, fmt.Errorf("block %d begins after %d, in a block %q", index, blocks, open)
			}
			blocks++
			switch open = str(e, "content_block", "type"); open {
			case "thinking", "redacted_thinking":
				d.thought(true, str(e, "content_block", "thinking")+str(e, "content_block", "data"))
			case "text":
				d.text(true, str(e, "content_block", "text"))
			default:
				d.kept = append(d.kept, "call "+str(e, "content_block", "id")+" "+str(e, "content_block", "name")+" ")
			}
		case "content_block_delta":
			if index != blocks-1 || open == "" {
				return d, fmt.Errorf("a delta of block %d after %d, open %q", index, blocks, open)
			}
			switch delta := inside(e, "delta"); str(delta, "type") {
			case "thinking_delta":
				d.thought(false, str(delta, "thinking"))
			case "signature_delta":
				d.thought(false, " signed "+str(delta, "signature"))
			case "text_delta":
				d.text(false, str(delta, "text"))
			case "input_json_delta":
				d.kept[len(d.kept)-1] += str(delta, "partial_json")
			}
		case "content_block_stop":
			if index != blocks-1 || open == "" {
				return d, fmt.Errorf("block %d ends after %d, open %q", index, blocks, open)
			}
			open = ""
		case "message_delta":
			if inside(e, "delta", "stop_reason") != nil {
				d.stop = str(e, "delta", "stop_reason")
			}
		case "error":
			d.failed = true
		}
	}
	if starts > 1 || err == nil && blocks > 0 && starts == 0 {
		return d, fmt.Errorf("%d message_start", starts)
	}
	d.failed = d.failed || len(all) == 0 || str(all[len(all)-1], "type") != "message_stop"
	return d, err
}

// decodeConverse reads the events of ConverseStream.
func decodeConverse(stream string) (decoded, error) {
	var d decoded
	all, names, err := awsPayloads(stream)
	starts, last, ended := 0, -1, -1
	for i, e := range all {
		index := num(e, "contentBlockIndex")
		begins := index > last
		switch names[i] {
		case "contentBlockStart", "contentBlockDelta":
			if index < last || begins && (index != last+1 || ended != last) || index == ended {
				return d, fmt.Errorf("block %d after %d, ended %d", index, last, ended)
			}
			last = index
		}
		switch names[i] {
		case "messageStart":
			starts++
		case "contentBlockStart":
			d.kept = append(d.kept, "call "+str(e, "start", "toolUse", "toolUseId")+" "+str(e, "start", "toolUse", "name")+" ")
		case "contentBlockDelta":
			thought := inside(e, "delta", "reasoningContent")
			switch {
			case thought != nil && str(thought, "signature") != "":
				d.thought(begins, " signed "+str(thought, "signature"))
			case thought != nil:
				d.thought(begins, str(thought, "text")+str(thought, "redactedContent"))
			case inside(e, "delta", "toolUse") != nil:
				d.kept[len(d.kept)-1] += str(e, "delta", "toolUse", "input")
			default:
				d.text(begins, str(e, "delta", "text"))
			}
		case "contentBlockStop":
			if index != last {
				return d, fmt.Errorf("block %d ends after %d", index, last)
			}
			ended = index
		case "messageStop":
			d.stop = str(e, "stopReason")
		case "exception":
			d.failed = true
		}
	}
	if starts > 1 {
		return d, fmt.Errorf("%d messageStart", starts)
	}
	d.failed = d.failed || len(names) == 0 || names[len(names)-1] != "metadata"
	return d, err
}

// decodeChat reads chunks as openai-go's accumulator does: with one id.
func decodeChat(all []object, err error) (decoded, error) {
	var d decoded
	id, role, done := "", "", false
	calls := []string{}
	for _, e := range all {
		if e["[DONE]"] != nil {
			done = true
			continue
		}
		d.failed = d.failed || e["error"] != nil
		if now := str(e, "id"); e["error"] == nil && now != id {
			if id != "" {
				return d, fmt.Errorf("the id %q follows %q", now, id)
			}
			id = now
		}
		delta := inside(e, "choices", 0, "delta")
		role += str(delta, "role")
		if s := str(delta, "reasoning_content"); s != "" {
			d.thought(false, s)
		}
		if s := str(delta, "content"); s != "" {
			d.text(false, s)
		}
		if index := num(delta, "tool_calls", 0, "index"); index >= 0 {
			if index > len(calls) {
				return d, fmt.Errorf("call %d after %d", index, len(calls))
			}
			if index == len(calls) {
				calls = append(calls, "")
			}
			f := inside(delta, "tool_calls", 0, "function")
			if str(delta, "tool_calls", 0, "id") != "" {
				calls[index] += "call " + str(delta, "tool_calls", 0, "id") + " " + str(f, "name") + " "
			}
			calls[index] += str(f, "arguments")
		}
		if s := str(e, "choices", 0, "finish_reason"); s != "" {
			d.stop = s
		}
	}
	d.kept = append(d.kept, calls...)
	if len(role) > len("assistant") {
		return d, fmt.Errorf("the roles are %q", role)
	}
	d.failed = d.failed || !done && d.stop == ""
	return d, err
}

// decodeResponses reads the events of the Responses API: what the last one says, and that it is what came before.
func decodeResponses(all []object, err error) (decoded, error) {
	var d decoded
	var items, types []string
	created, next := 0, 0
	ended := ""
	for _, e := range all {
		kind, index := str(e, "type"), num(e, "output_index")
		if kind == "error" || kind == "response.failed" {
			d.failed = true
			continue
		}
		if n := num(e, "sequence_number"); n != next {
			return d, fmt.Errorf("%s has the number %d, want %d", kind, n, next)
		}
		next++
		if index >= 0 && (index >= len(items) && kind != "response.output_item.added" || index < len(items)-1) {
			return d, fmt.Errorf("%s of item %d of %d", kind, index, len(items))
		}
		switch kind {
		case "response.created":
			created++
		case "response.output_item.added":
			items, types = append(items, ""), append(types, str(e, "item", "type"))
			if str(e, "item", "type") == "reasoning" {
				d.thought(true, "")
			}
		case "response.reasoning_summary_text.delta":
			d.thought(false, str(e, "delta"))
		case "response.output_text.delta", "response.function_call_arguments.delta":
			items[index] += str(e, "delta")
		case "response.output_item.done":
			switch item := inside(e, "item"); str(item, "type") {
			case "message":
				d.text(true, str(item, "content", 0, "text"))
				if items[index] != str(item, "content", 0, "text") {
					return d, fmt.Errorf("the deltas are %q, the text %v", items[index], item)
				}
			case "function_call":
				d.kept = append(d.kept, "call "+str(item, "call_id")+" "+str(item, "name")+" "+str(item, "arguments"))
				if items[index] != str(item, "arguments") {
					return d, fmt.Errorf("the deltas are %q, the call %v", items[index], item)
				}
			case "reasoning":
				d.thought(false, " whole")
			}
		case "response.completed", "response.incomplete":
			ended = str(e, "response", "status")
		}
	}
	if created > 1 {
		return d, fmt.Errorf("%d response.created", created)
	}
	d.failed = d.failed || ended == ""
	if d.failed { // a text is kept as it comes
		for i, text := range items {
			if types[i] == "message" && text != "" && (len(d.kept) == 0 || !strings.HasSuffix(d.kept[len(d.kept)-1], text)) {
				d.text(true, text)
			}
		}
	}
	d.stop = ended
	return d, err
}

// decodeGemini reads chunks.
func decodeGemini(all []object, err error) (decoded, error) {
	var d decoded
	for _, e := range all {
		d.failed = d.failed || e["error"] != nil
		parts, _ := inside(e, "candidates", 0, "content", "parts").([]any)
		for _, p := range parts {
			text := str(p, "text")
			switch {
			case inside(p, "functionCall") != nil:
				args, _ := json.Marshal(inside(p, "functionCall", "args"))
				d.kept = append(d.kept, "call "+str(p, "functionCall", "id")+str(p, "functionCall", "name")+string(args)+str(p, "thoughtSignature"))
			case inside(p, "thought") == true:
				d.thought(false, text)
			case text != "":
				d.text(false, text)
			}
		}
		if s := str(e, "candidates", 0, "finishReason"); s != "" {
			d.stop = s
		}
	}
	d.failed = d.failed || d.stop == ""
	return d, err
}

// decodeOllama reads lines.
func decodeOllama(stream string) (decoded, error) {
	var d decoded
	for line := range strings.Lines(stream) {
		var e object
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			if !strings.HasSuffix(line, "\n") {
				break // half a line at the end means nothing
			}
			return d, fmt.Errorf("line %q: %w", line, err)
		}
		d.failed = d.failed || e["error"] != nil
		if s := str(e, "message", "thinking") + str(e, "thinking"); s != "" {
			d.thought(false, s)
		}
		if s := str(e, "message", "content") + str(e, "response"); s != "" {
			d.text(false, s)
		}
		calls, _ := inside(e, "message", "tool_calls").([]any)
		for _, c := range calls {
			text, _ := json.Marshal(c)
			d.kept = append(d.kept, "call "+string(text))
		}
		if e["done"] == true {
			d.stop = str(e, "done_reason")
		}
	}
	d.failed = d.failed || d.stop == ""
	return d, nil
}

// decodeStudio reads the events of LM Studio.
func decodeStudio(all []object, err error) (decoded, error) {
	var d decoded
	open := ""
	for _, e := range all {
		name, step, _ := strings.Cut(str(e, "type"), ".")
		switch step {
		case "start":
			if name == "reasoning" || name == "message" {
				if open != "" {
					return d, fmt.Errorf("%s begins in %s", name, open)
				}
				open = name
			}
			if name == "reasoning" {
				d.thought(true, "")
			}
		case "delta":
			if open != name {
				return d, fmt.Errorf("a delta of %s in %q", name, open)
			}
			if name == "reasoning" {
				d.thought(false, str(e, "content"))
			} else {
				d.text(false, str(e, "content"))
			}
		case "end":
			if open = ""; name == "chat" {
				d.stop = "end"
			}
		}
		d.failed = d.failed || name == "error"
	}
	d.failed = d.failed || d.stop == ""
	return d, err
}

// decodeCohere reads the events of Cohere's API, version 2.
func decodeCohere(all []object, err error) (decoded, error) {
	var d decoded
	starts, blocks, open := 0, 0, ""
	for _, e := range all {
		kind, index, message := str(e, "type"), num(e, "index"), inside(e, "delta", "message")
		switch kind {
		case "message-start":
			starts++
		case "content-start":
			if index != blocks || open != "" {
				return d, fmt.Errorf("block %d begins after %d, open %q", index, blocks, open)
			}
			blocks++
			if open = str(message, "content", "type"); open == "thinking" {
				d.thought(true, "")
			}
		case "content-delta":
			if index != blocks-1 || open == "" {
				return d, fmt.Errorf("a delta of block %d after %d, open %q", index, blocks, open)
			}
			if open == "thinking" {
				d.thought(false, str(message, "content", "thinking"))
			} else {
				d.text(false, str(message, "content", "text"))
			}
		case "content-end":
			if index != blocks-1 {
				return d, fmt.Errorf("block %d ends after %d", index, blocks)
			}
			open = ""
		case "tool-plan-delta":
			d.text(false, str(message, "tool_plan"))
		case "tool-call-start":
			d.kept = append(d.kept, "call "+str(message, "tool_calls", "id")+" "+str(message, "tool_calls", "function", "name")+" "+str(message, "tool_calls", "function", "arguments"))
		case "tool-call-delta":
			d.kept[len(d.kept)-1] += str(message, "tool_calls", "function", "arguments")
		case "message-end":
			d.stop = str(e, "delta", "finish_reason")
			d.failed = d.failed || d.stop == "ERROR"
		}
	}
	if starts > 1 {
		return d, fmt.Errorf("%d message-start", starts)
	}
	d.failed = d.failed || d.stop == ""
	return d, err
}

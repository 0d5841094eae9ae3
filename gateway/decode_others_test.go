package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

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

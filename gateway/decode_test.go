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

// num returns the number at a path, or -1.
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

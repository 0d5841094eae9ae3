package simulator

import (
	"fmt"
	"strings"
)

// The source of what follows: platform.openai.com, "Responses" and "Streaming
// events". The API has an error in a stream in a member of its own, unlike the page.

func responsesWhole(c *call) string {
	var items []string
	for _, b := range c.blocks() {
		items = append(items, responsesItem(c, b, "completed"))
	}
	status, _ := responsesEnd(c)
	return responsesObject(c, status, "null", strings.Join(items, ","), responsesUsage(c))
}

// responsesEnd returns the status of an answer and incomplete_details as JSON.
func responsesEnd(c *call) (status, incomplete string) {
	switch c.said.Stop {
	case Length:
		return "incomplete", `{"reason":"max_output_tokens"}`
	case Refusal:
		return "incomplete", `{"reason":"content_filter"}`
	}
	return "completed", "null"
}

func responsesStream(c *call) stream {
	var n, alone numbered
	begun := *c
	begun.said.Stop = ""
	created := responsesObject(&begun, "in_progress", "null", "", "null")
	s := stream{media: eventStream, failure: alone.event("error", `"error":`+responsesError())}
	s.opening = []string{
		n.event("response.created", `"response":`+created),
		n.event("response.in_progress", `"response":`+created),
	}
	start, content, end := weave(c.inOrder(),
		func(p piece) string { return responsesStart(&n, c, p.block) },
		func(p piece) string { return responsesDelta(&n, c, p) },
		func(p piece) string { return responsesStop(&n, c, p.block) })
	status, _ := responsesEnd(c)
	s.opening, s.content = append(s.opening, start), content
	s.ending = []string{end, n.event("response."+status, `"response":`+responsesWhole(c))}
	s.broken = func(sent []string) string {
		n := numbered{strings.Count(strings.Join(sent, ""), "event: ")}
		return n.event("response.failed", `"response":`+responsesObject(&begun, "failed", responsesCause(), "", "null"))
	}
	return s
}

// responsesStart opens an item and, where it has one, its part.
func responsesStart(n *numbered, c *call, b block) string {
	empty := b
	empty.pieces = nil
	item := n.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, b.index, responsesItem(c, empty, "in_progress")))
	switch {
	case b.kind == spoken:
		return item + n.event("response.content_part.added", responsesWhere(c, b)+`,"part":`+responsesPart(""))
	case b.kind == thought && c.reasoning() == shown:
		return item + n.event("response.reasoning_summary_part.added", responsesWhere(c, b)+`,"part":`+responsesSummary(""))
	}
	return item
}

// responsesDelta returns a delta of an item, or "" for reasoning that is not shown.
func responsesDelta(n *numbered, c *call, p piece) string {
	members := responsesWhere(c, p.block) + `,"delta":` + quote(p.text)
	switch {
	case p.kind == spoken:
		return n.event("response.output_text.delta", members+`,"logprobs":[]`)
	case p.kind == called && p.text != "":
		return n.event("response.function_call_arguments.delta", members)
	case p.kind == thought && c.reasoning() == shown:
		return n.event("response.reasoning_summary_text.delta", members)
	}
	return ""
}

// responsesStop closes an item and, where it has one, its part.
func responsesStop(n *numbered, c *call, b block) string {
	done, where, text := "", responsesWhere(c, b), b.text()
	switch {
	case b.kind == spoken:
		done = n.event("response.output_text.done", where+`,"text":`+quote(text)+`,"logprobs":[]`) +
			n.event("response.content_part.done", where+`,"part":`+responsesPart(text))
	case b.kind == called:
		done = n.event("response.function_call_arguments.done", where+`,"arguments":`+quote(text))
	case c.reasoning() == shown:
		done = n.event("response.reasoning_summary_text.done", where+`,"text":`+quote(text)) +
			n.event("response.reasoning_summary_part.done", where+`,"part":`+responsesSummary(text))
	}
	return done + n.event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, b.index, responsesItem(c, b, "completed")))
}

// numbered numbers the events of a stream.
type numbered struct{ next int }

func (n *numbered) event(kind, members string) string {
	n.next++
	return sse(kind, fmt.Sprintf(`{"type":%s,"sequence_number":%d,%s}`, quote(kind), n.next-1, members))
}

// responsesObject returns the response with its error, its items and what it has cost.
func responsesObject(c *call, status, cause, items, usage string) string {
	_, incomplete := responsesEnd(c)
	return fmt.Sprintf(`{"id":"resp_%s","object":"response","created_at":%d,"status":%s,"background":%t,"error":%s,`+
		`"incomplete_details":%s,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":%s,`+
		`"output":[%s],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,`+
		`"reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"default","store":true,`+
		`"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],`+
		`"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":%s,"user":null,"metadata":{}}`,
		c.id, c.at.Unix(), quote(status), c.behind, cause, incomplete, quote(c.model), items, usage)
}

// responsesID returns the id of an item.
func responsesID(c *call, b block) string {
	switch b.kind {
	case thought:
		return "rs_" + c.id
	case called:
		return fmt.Sprintf("fc_%s_%d", c.id, b.nth)
	}
	return "msg_" + c.id
}

// responsesWhere returns the members that identify an item and its part.
func responsesWhere(c *call, b block) string {
	where := fmt.Sprintf(`"item_id":%s,"output_index":%d`, quote(responsesID(c, b)), b.index)
	switch b.kind {
	case thought:
		return where + `,"summary_index":0`
	case spoken:
		return where + `,"content_index":0`
	}
	return where
}

// responsesItem returns an item with what its block holds.
func responsesItem(c *call, b block, status string) string {
	id, part := quote(responsesID(c, b)), ""
	switch {
	case b.kind == called:
		return fmt.Sprintf(`{"id":%s,"type":"function_call","status":%s,"arguments":%s,"call_id":"call_%s_%d","name":%s}`,
			id, quote(status), quote(b.text()), c.id, b.nth, quote(b.call.Name))
	case b.kind == spoken && b.pieces != nil:
		part = responsesPart(b.text())
	case b.kind == thought && b.pieces != nil && c.reasoning() == shown:
		part = responsesSummary(b.text())
	}
	if b.kind == spoken {
		return fmt.Sprintf(`{"id":%s,"type":"message","status":%s,"content":[%s],"role":"assistant"}`, id, quote(status), part)
	}
	sealed := ""
	if c.keeps {
		sealed = `,"encrypted_content":` + quote(signature(c))
	}
	return fmt.Sprintf(`{"id":%s,"type":"reasoning"%s,"summary":[%s]}`, id, sealed, part)
}

func responsesPart(text string) string {
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quote(text) + `}`
}

func responsesSummary(text string) string {
	return `{"type":"summary_text","text":` + quote(text) + `}`
}

func responsesUsage(c *call) string {
	return fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,`+
		`"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		c.prompt, c.cached(), c.out(), c.thinking(), c.prompt+c.out())
}

func responsesCount(c *call) string {
	return fmt.Sprintf(`{"object":"response.input_tokens","input_tokens":%d}`, c.prompt)
}

func responsesError() string {
	kind, code, message := openaiError(503)
	return fmt.Sprintf(`{"type":%s,"code":%s,"message":%s,"param":null}`, quote(kind), code, quote(message))
}

func responsesCause() string {
	_, code, message := openaiError(503)
	return fmt.Sprintf(`{"code":%s,"message":%s}`, code, quote(message))
}

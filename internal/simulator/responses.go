package simulator

import (
	"encoding/json"
	"fmt"
)

// The source of what follows: platform.openai.com, "Responses" and "Streaming
// events". An error inside a stream has the form of the API, which puts it into
// a member of its own; the page shows it without.

func readResponses(r ask) (call, string) {
	var body struct {
		Model  string
		Stream bool
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return call{}, "We could not parse the JSON body of your request: " + err.Error()
	}
	if body.Model == "" {
		return call{}, "Missing required parameter: 'model'."
	}
	return call{model: body.Model, stream: body.Stream}, ""
}

func responsesWhole(c call) string {
	return responsesObject(c, "completed", "null", responsesItem(c, "completed", responsesPart(c.text())), responsesUsage(c))
}

func responsesStream(c call) stream {
	var n, alone numbered
	created, item := responsesObject(c, "in_progress", "null", "", "null"), responsesItem(c, "in_progress", "")
	where := `"item_id":"msg_` + c.id + `","output_index":0,"content_index":0`
	s := stream{media: eventStream, failure: alone.event("error", `"error":`+responsesError())}
	s.opening = []string{
		n.event("response.created", `"response":`+created),
		n.event("response.in_progress", `"response":`+created),
		n.event("response.output_item.added", `"output_index":0,"item":`+item),
		n.event("response.content_part.added", where+`,"part":`+responsesPart("")),
	}
	failed := n
	s.broken = failed.event("response.failed", `"response":`+responsesObject(c, "failed", responsesCause(), "", "null"))
	for _, word := range c.words {
		s.content = append(s.content, n.event("response.output_text.delta", where+`,"delta":`+quote(word)+`,"logprobs":[]`))
	}
	s.ending = []string{
		n.event("response.output_text.done", where+`,"text":`+quote(c.text())+`,"logprobs":[]`),
		n.event("response.content_part.done", where+`,"part":`+responsesPart(c.text())),
		n.event("response.output_item.done", `"output_index":0,"item":`+responsesItem(c, "completed", responsesPart(c.text()))),
		n.event("response.completed", `"response":`+responsesWhole(c)),
	}
	return s
}

// numbered gives events with their numbers in the stream.
type numbered struct{ next int }

func (n *numbered) event(kind, members string) string {
	n.next++
	return sse(kind, fmt.Sprintf(`{"type":%s,"sequence_number":%d,%s}`, quote(kind), n.next-1, members))
}

// responsesObject gives the response with its error, its only item and what it
// has cost.
func responsesObject(c call, status, cause, item, usage string) string {
	return fmt.Sprintf(`{"id":"resp_%s","object":"response","created_at":%d,"status":%s,"background":false,"error":%s,`+
		`"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":%s,`+
		`"output":[%s],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,`+
		`"reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"default","store":true,`+
		`"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],`+
		`"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":%s,"user":null,"metadata":{}}`,
		c.id, c.at.Unix(), quote(status), cause, quote(c.model), item, usage)
}

func responsesItem(c call, status, part string) string {
	return fmt.Sprintf(`{"id":"msg_%s","type":"message","status":%s,"content":[%s],"role":"assistant"}`, c.id, quote(status), part)
}

func responsesPart(text string) string {
	return `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quote(text) + `}`
}

func responsesUsage(c call) string {
	return fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,`+
		`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`,
		c.prompt, len(c.words), c.prompt+len(c.words))
}

func responsesCount(c call) string {
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

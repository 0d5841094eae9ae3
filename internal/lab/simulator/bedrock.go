package simulator

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// The source of what follows: docs.aws.amazon.com, "Amazon Bedrock API Reference" with InvokeModel,
// InvokeModelWithResponseStream, Converse and ConverseStream, and the user guide's "Anthropic Claude Messages API".

// awsStream is the Content-Type of AWS's event streams.
const awsStream = "application/vnd.amazon.eventstream"

// bedrock is Amazon Bedrock's runtime. All its models are Anthropic's.
func bedrock() dialect {
	return dialect{
		idHeader:   "x-amzn-requestid",
		typeHeader: "x-amzn-errortype",
		overload:   503,
		endpoints: []endpoint{
			{method: "POST", path: "/model/*/invoke", generates: true, read: readInvoke(false), whole: anthropicWhole},
			{method: "POST", path: "/model/*/invoke-with-response-stream", generates: true, read: readInvoke(true), whole: anthropicWhole, stream: invokeStream},
			{method: "POST", path: "/model/*/converse", generates: true, read: readConverse(false), whole: converseWhole},
			{method: "POST", path: "/model/*/converse-stream", generates: true, read: readConverse(true), whole: converseWhole, stream: converseStream},
			{method: "POST", path: "/model/*/count-tokens", whole: bedrockCount},
		},
		failure:     bedrockFailure,
		failureType: func(p *problem) string { kind, _ := bedrockError(p); return kind },
		denial:      bedrockDenial,
	}
}

// speaksBedrock reports whether a request is meant for this API.
func speaksBedrock(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/model/") }

// readInvoke returns the reader of a body of Anthropic's in which neither the model nor the form is named.
func readInvoke(stream bool) func(ask, *call) *problem {
	return func(r ask, c *call) *problem {
		var body struct {
			anthropicAsk
			Version string `json:"anthropic_version"`
		}
		if err := json.Unmarshal(r.body, &body); err != nil {
			return bad("Malformed input request: %v, please reformat your input and try again.", err)
		}
		if body.Version == "" {
			return bad("anthropic_version: Field required")
		}
		_, body.Model, _ = strings.Cut(r.model, "anthropic.")
		p := body.fill(c, r.body)
		c.model, c.stream = r.model, stream
		return p
	}
}

// readConverse returns the reader of the body of a conversation.
func readConverse(stream bool) func(ask, *call) *problem {
	return func(r ask, c *call) *problem {
		var body struct {
			Messages []struct {
				Role    string
				Content []struct{ Text string }
			}
			More map[string]any `json:"additionalModelRequestFields"`
		}
		if err := json.Unmarshal(r.body, &body); err != nil {
			return bad("The request body is not valid JSON: %v", err)
		}
		*c = call{model: r.model, stream: stream, view: never}
		if body.More["thinking"] != nil || body.More["reasoning_config"] != nil {
			c.view = shown
		}
		for _, m := range body.Messages {
			c.repeat = c.repeat || m.Role == "assistant"
			said := ""
			for _, block := range m.Content {
				said += block.Text
			}
			c.lastTurns.add(m.Role == "assistant", said)
		}
		if len(body.Messages) == 0 || body.Messages[0].Role != "user" {
			return bad("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
		}
		return nil
	}
}

// awsMessage returns a message of an event stream with a JSON payload: an event, or an exception.
func awsMessage(kind, name, payload string) string {
	m := eventstream.Message{Payload: []byte(payload)}
	m.Headers.Set(":"+kind+"-type", eventstream.StringValue(name))
	m.Headers.Set(":content-type", eventstream.StringValue(jsonMedia))
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil { // its headers are short strings
		panic(err)
	}
	return out.String()
}

// awsFailure is the exception of an overloaded provider inside a stream.
func awsFailure() string {
	_, message := bedrockError(&problem{status: http.StatusServiceUnavailable})
	return awsMessage("exception", "serviceUnavailableException", `{"message":`+quote(message)+`}`)
}

// invokeStream is Anthropic's stream with each of its events in a chunk.
func invokeStream(c *call) stream {
	s := anthropicStream(c)
	last := len(s.ending) - 1
	s.ending[last] = sse("message_stop", fmt.Sprintf(`{"type":"message_stop","amazon-bedrock-invocationMetrics":`+
		`{"inputTokenCount":%d,"outputTokenCount":%d,"invocationLatency":1,"firstByteLatency":1}}`, c.prompt, c.out()))
	return stream{media: awsStream, opening: inChunks(s.opening), content: inChunks(s.content), ending: inChunks(s.ending), failure: awsFailure()}
}

// inChunks puts each event of Anthropic's, but for pings, into a chunk.
func inChunks(events []string) []string {
	var all []string
	for _, several := range events {
		chunks := ""
		for event := range strings.SplitSeq(strings.TrimSuffix(several, "\n\n"), "\n\n") {
			if _, data, ok := strings.Cut(event, "\ndata: "); ok && !strings.HasPrefix(event, "event: ping") {
				chunks += awsMessage("event", "chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(data))+`","p":"abcdefghij"}`)
			}
		}
		if chunks != "" {
			all = append(all, chunks)
		}
	}
	return all
}

// converseStop returns the stop reason.
func converseStop(c *call) string {
	if c.said.Stop == Refusal {
		return `"content_filtered"`
	}
	return anthropicStop(c)
}

// converseUsage returns the object usage.
func converseUsage(c *call) string {
	return fmt.Sprintf(`{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}`, c.prompt, c.out(), c.prompt+c.out())
}

func converseWhole(c *call) string {
	var content []string
	for _, b := range c.blocks() {
		content = append(content, converseBlock(c, b))
	}
	return fmt.Sprintf(`{"metrics":{"latencyMs":1},"output":{"message":{"content":[%s],"role":"assistant"}},"stopReason":%s,"usage":%s}`,
		strings.Join(content, ","), converseStop(c), converseUsage(c))
}

// converseBlock returns a whole block.
func converseBlock(c *call, b block) string {
	switch {
	case b.kind == spoken:
		return `{"text":` + quote(b.text()) + `}`
	case b.kind == called:
		input, ok := b.object()
		if !ok {
			input = "{}"
		}
		return `{"toolUse":{"input":` + input + `,` + converseTool(c, b) + `}}`
	case c.reasoning() == sealed:
		return `{"reasoningContent":{"redactedContent":` + quote(signature(c)) + `}}`
	}
	return `{"reasoningContent":{"reasoningText":{"signature":` + quote(signature(c)) + `,"text":` + quote(b.text()) + `}}}`
}

// converseTool returns the members that name a call.
func converseTool(c *call, b block) string {
	return fmt.Sprintf(`"name":%s,"toolUseId":"tooluse_%s_%d"`, quote(b.call.Name), c.id, b.nth)
}

func converseStream(c *call) stream {
	event := func(name string, p piece, members string) string {
		return awsMessage("event", name, fmt.Sprintf(`{"contentBlockIndex":%d%s,"p":"abcdefg"}`, p.index, members))
	}
	delta := func(p piece) string { return event("contentBlockDelta", p, `,"delta":`+converseDelta(c, p)) }
	start, content, stop := weave(c.inOrder(),
		func(p piece) string {
			if p.kind != called {
				return "" // only a call has a beginning of its own
			}
			return event("contentBlockStart", p, `,"start":{"toolUse":{`+converseTool(c, p.block)+`}}`)
		}, delta,
		func(p piece) string {
			end := event("contentBlockStop", p, "")
			if p.kind == thought && c.reasoning() != sealed {
				return event("contentBlockDelta", p, `,"delta":{"reasoningContent":{"signature":`+quote(signature(c))+`}}`) + end
			}
			return end
		})
	return stream{
		media:   awsStream,
		opening: slices.DeleteFunc([]string{awsMessage("event", "messageStart", `{"p":"abc","role":"assistant"}`), start}, func(s string) bool { return s == "" }),
		content: content,
		ending: []string{
			stop + awsMessage("event", "messageStop", `{"p":"abcd","stopReason":`+converseStop(c)+`}`),
			awsMessage("event", "metadata", `{"metrics":{"latencyMs":1},"p":"abcde","usage":`+converseUsage(c)+`}`),
		},
		failure: awsFailure(),
	}
}

// converseDelta returns a piece as a delta.
func converseDelta(c *call, p piece) string {
	switch {
	case p.kind == spoken:
		return `{"text":` + quote(p.text) + `}`
	case p.kind == called:
		return `{"toolUse":{"input":` + quote(p.text) + `}}`
	case c.reasoning() == sealed:
		return `{"reasoningContent":{"redactedContent":` + quote(signature(c)) + `}}`
	}
	return `{"reasoningContent":{"text":` + quote(p.text) + `}}`
}

func bedrockCount(c *call) string { return fmt.Sprintf(`{"inputTokens":%d}`, c.prompt) }

func bedrockFailure(p *problem) string {
	_, message := bedrockError(p)
	return `{"message":` + quote(message) + `}`
}

// bedrockError returns the type and the message of an error.
func bedrockError(p *problem) (kind, message string) {
	kind, message = bedrockUsual(p.status)
	return cmp.Or(p.kind, kind), cmp.Or(p.message, message)
}

// bedrockUsual returns the type and the usual message of a status.
func bedrockUsual(status int) (kind, message string) {
	switch status {
	case 403:
		return "AccessDeniedException", "You don't have access to the model with the specified model ID."
	case 404:
		return "ResourceNotFoundException", "The specified resource ARN was not found."
	case 408:
		return "ModelTimeoutException", "The request took too long to process. Processing time exceeded the model timeout length."
	case 424:
		return "ModelErrorException", "The request failed due to an error while processing the model."
	case 429:
		return "ThrottlingException", "Too many requests, please wait before trying again."
	case 503, 529:
		return "ServiceUnavailableException", "Bedrock is unable to process your request."
	}
	if status >= 500 {
		return "InternalServerException", "The system encountered an unexpected error during processing. Try your request again."
	}
	return "ValidationException", "The input fails to satisfy the constraints specified by Amazon Bedrock."
}

// bedrockDenial returns the error of a denial.
func bedrockDenial(d Denial, x *exchange) *problem {
	switch d {
	case TooLong:
		return bad("Input is too long for requested model.")
	case Spent:
		return &problem{status: http.StatusTooManyRequests, message: "Too many tokens per day, please wait before trying again."}
	case KeyEcho:
		return &problem{status: http.StatusForbidden, kind: "UnrecognizedClientException", message: "The security token included in the request is invalid: " + keyOf(x.r)}
	case noImages:
		return bad("This model doesn't support the image content block that you provided. Update the content block and try again.")
	case Blocked:
		return bad("The content of the request was blocked by a content filter.")
	}
	return bad("The provided model identifier is invalid.")
}

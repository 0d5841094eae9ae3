package dialect

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/ridethrough/ridethrough/fault"
)

// BedrockInvoke returns InvokeModel and InvokeModelWithResponseStream of Amazon Bedrock, whose bodies are those
// of the model's own vendor.
func BedrockInvoke() *Dialect { return &bedrockInvoke }

// BedrockConverse returns Converse and ConverseStream of Amazon Bedrock.
func BedrockConverse() *Dialect { return &bedrockConverse }

var bedrockInvoke = Dialect{
	name:           "bedrock-invoke",
	isRequest:      hasBedrockVerb("invoke", "invoke-with-response-stream"),
	streamForm:     AWSEvents,
	formFromURL:    bedrockForm,
	modelInPath:    bedrockModel,
	frameKind:      bedrockChunkKind,
	isPlainContent: isBedrockPlainContent,
	prelude:        &invokePrelude,
	output:         anthropicOutput,
	refusal:        anthropicRefusal,
	isError:        isBedrockError,
	ping:           bedrockPing,
	comment:        bedrockPing,
	heartbeat:      bedrockHeartbeat,
	errors:         bedrockErrors,
}

var bedrockConverse = Dialect{
	name:        "bedrock-converse",
	isRequest:   hasBedrockVerb("converse", "converse-stream"),
	streamForm:  AWSEvents,
	formFromURL: bedrockForm,
	modelInPath: bedrockModel,
	frameKind:   converseFrameKind,
	prelude:     &conversePrelude,
	output:      converseOutput,
	refusal:     converseRefusal,
	isError:     isBedrockError,
	ping:        bedrockPing,
	comment:     bedrockPing,
	errors:      bedrockErrors,
}

// bedrockErrors are the exceptions of both (docs: "InvokeModel", "ConverseStream", section "Errors").
var bedrockErrors = errorFormat{
	body:   bedrockError,
	header: "X-Amzn-Errortype",
	other:  "ServiceUnavailableException",
	types: map[fault.Kind]string{
		fault.RateLimited:     "ThrottlingException",
		fault.Quota:           "ServiceQuotaExceededException",
		fault.Timeout:         "ModelTimeoutException",
		fault.UpstreamTimeout: "ModelTimeoutException",
		fault.Truncated:       "ModelStreamErrorException",
		fault.Auth:            "UnrecognizedClientException",
		fault.Refused:         "AccessDeniedException",
		fault.Invalid:         "ValidationException",
		fault.TooLong:         "ValidationException",
	},
}

// bedrockVerb returns the model and the verb in a path such as /model/M/invoke; "": it has none. A model may
// be an ARN, with slashes and colons.
func bedrockVerb(path string) (model, verb string) {
	_, path, ok := strings.Cut(path, "/model/")
	i := strings.LastIndexByte(path, '/')
	if !ok || i <= 0 {
		return "", ""
	}
	return path[:i], path[i+1:]
}

// hasBedrockVerb returns a function that reports whether a path ends with one of the given verbs.
func hasBedrockVerb(verbs ...string) func(string) bool {
	return func(path string) bool {
		_, got := bedrockVerb(path)
		for _, verb := range verbs {
			if got == verb {
				return true
			}
		}
		return false
	}
}

// bedrockForm reads the form from the path: the body does not choose.
func bedrockForm(u *url.URL) Form {
	if _, verb := bedrockVerb(u.Path); strings.HasSuffix(verb, "-stream") {
		return AWSEvents
	}
	return JSON
}

// bedrockModel finds the model in the path.
func bedrockModel(path string) Span {
	model, verb := bedrockVerb(path)
	end := len(path) - len("/") - len(verb)
	if model == "" {
		return Span{}
	}
	return Span{end - len(model), end}
}

// bedrockPing returns an event of a type that no SDK knows: all skip it. The member p is AWS's own padding.
func bedrockPing(state string) string {
	payload, _ := json.Marshal(struct {
		P string `json:"p,omitempty"`
	}{state})
	return string(awsFrame("event", "keepalive", payload))
}

// bedrockHeartbeat is for Claude Code only, whose idle timer counts the events of the model: not the ping, which
// its SDK skips, and of Anthropic's events only this one does not disturb it before the first.
func bedrockHeartbeat(c Client) string {
	if !strings.HasPrefix(c.Agent, "claude-cli/") {
		return ""
	}
	event := []byte(`{"type":"message_delta","delta":{},"usage":{"output_tokens":0}}`)
	payload, _ := json.Marshal(struct {
		Bytes []byte `json:"bytes"`
	}{event})
	return string(awsFrame("event", "chunk", payload))
}

// bedrockChunkKind reads the model's own event in a chunk: Anthropic's, Amazon Nova's or OpenAI's, whose ends
// are known. A clean end may follow any other.
func bedrockChunkKind(name, data []byte) FrameKind {
	if len(name) > 0 && string(name) != "chunk" {
		return Opening
	}
	for key, value := range members(data) {
		switch string(key) {
		case "type":
			if _, ok := anthropicKindByName(bytes.Trim(value, `"`)); ok || string(value) == `"content_block_start"` {
				return anthropicFrameKind(nil, data)
			}
		case "choices":
			return chatFrameKind(nil, data)
		case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
			return converseFrameKind(key, value)
		}
		if isErrorMember(key, value) {
			return Failure
		}
	}
	return Finish
}

// isBedrockPlainContent recognizes a chunk with Anthropic's content_block_delta by how its base64 begins.
func isBedrockPlainContent(frame []byte) bool {
	m, ok := parseAWSMessage(frame)
	return ok && bytes.HasPrefix(m.payload, []byte(`{"bytes":"eyJ0eXBlIjoiY29udGVudF9ibG9ja19kZWx0`))
}

// converseFrameKind reads an event by its name. The usage, in the metadata, is the last one.
func converseFrameKind(name, data []byte) FrameKind {
	switch string(name) {
	case "messageStart", "contentBlockStop", "initial-response", "keepalive", "":
		return Opening
	case "contentBlockStart":
		if isEmpty(member(data, "start")) {
			return Opening
		}
	case "messageStop":
		return Finish
	case "metadata":
		return Last
	}
	return Content
}

// converseOutput reads messageStop, metadata, or a whole answer.
func converseOutput(data []byte) Output {
	message := member(member(data, "output"), "message")
	stop, usage := member(data, "stopReason"), member(data, "usage")
	switch {
	case stop != nil && string(stop) != `"end_turn"`, !isEmpty(member(message, "content")), stop == nil && usage == nil:
		return SomeOutput
	}
	return outputOf(member(usage, "outputTokens"))
}

// isBedrockError reports whether a member makes a body an error of AWS: its text, which no answer has at the
// top, or its type.
func isBedrockError(key, value []byte) bool {
	switch string(key) {
	case "message", "Message":
		return len(value) > 0 && value[0] == '"'
	case "__type":
		return true
	}
	return false
}

// bedrockError writes an error as the API does. Its type is in a header too.
func bedrockError(kind, message string) []byte {
	body, _ := json.Marshal(struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{kind, message})
	return body
}

// bedrockException returns an error as a message of a stream, where its name begins in lower case.
func bedrockException(kind, message string) []byte {
	payload, _ := json.Marshal(struct {
		Message string `json:"message"`
	}{message})
	return awsFrame("exception", strings.ToLower(kind[:1])+kind[1:], payload)
}

package dialect

// Output is what the end of an answer, without content before it, says about its output.
type Output uint8

// The outputs.
const (
	SomeOutput Output = iota // content, output tokens, or an end for another reason than a plain stop
	NoContent                // a plain stop without content; the usage is not in it
	NoOutput                 // a plain stop without content, and a usage of no output tokens
)

// Output returns what a frame before any content, or a whole body, says about the answer's output. Only
// NoOutput means that nothing was generated: a model may also stop at its first token, by its own judgement.
func (d *Dialect) Output(f Form, frame []byte) Output {
	_, data := payload(f, frame)
	return d.output(data)
}

// outputOf returns the output of an answer without content, by the number of output tokens; nil: the usage
// is not stated.
func outputOf(tokens []byte) Output {
	switch string(tokens) {
	case "":
		return NoContent
	case "0":
		return NoOutput
	}
	return SomeOutput
}

// anthropicOutput reads message_delta, or a whole message.
func anthropicOutput(data []byte) Output {
	end := data
	switch string(member(data, "type")) {
	case `"message_delta"`:
		end = member(data, "delta")
	case `"message"`:
	default:
		return SomeOutput
	}
	if !isEmpty(member(data, "content")) || string(member(end, "stop_reason")) != `"end_turn"` { // the content comes first
		return SomeOutput
	}
	return outputOf(member(member(data, "usage"), "output_tokens"))
}

// chatOutput reads a chunk or a whole completion. The usage may come in a chunk of its own, without choices.
func chatOutput(data []byte) Output {
	out := outputOf(member(member(data, "usage"), "completion_tokens"))
	if out == SomeOutput {
		return SomeOutput // whatever the choices say, which take longer to read
	}
	choices := 0
	for choice := range elements(member(data, "choices")) {
		if choices++; !isPlainStop(choice) {
			return SomeOutput
		}
	}
	if choices == 0 && out == NoContent {
		return SomeOutput // unknown
	}
	return out
}

// isPlainStop reports whether a choice ends with "stop" and without content.
func isPlainStop(choice []byte) bool {
	for key, value := range members(choice) {
		switch string(key) {
		case "delta", "message":
			if deltaHasContent(value) {
				return false
			}
		case "text":
			if !isEmpty(value) {
				return false
			}
		}
	}
	return string(member(choice, "finish_reason")) == `"stop"`
}

// responsesOutput reads response.completed, or a whole response.
func responsesOutput(data []byte) Output {
	response := data
	if inner := member(data, "response"); inner != nil {
		response = inner
	}
	if string(member(response, "status")) != `"completed"` || !isEmpty(member(response, "output")) {
		return SomeOutput
	}
	return outputOf(member(member(response, "usage"), "output_tokens"))
}

// geminiOutput reads a chunk or a whole answer. Google leaves counts of 0 out.
func geminiOutput(data []byte) Output {
	if inner := member(data, "response"); inner != nil {
		data = inner
	}
	candidates := 0
	for candidate := range elements(member(data, "candidates")) {
		candidates++
		if hasParts(candidate) || string(member(candidate, "finishReason")) != `"STOP"` {
			return SomeOutput
		}
	}
	usage := member(data, "usageMetadata")
	switch {
	case candidates == 0:
		return SomeOutput // the prompt was blocked
	case usage == nil:
		return NoContent
	}
	for _, count := range [...]string{"candidatesTokenCount", "thoughtsTokenCount"} {
		if n := member(usage, count); n != nil && string(n) != "0" {
			return SomeOutput
		}
	}
	return NoOutput
}

// ollamaOutput reads the last line, or a whole answer. Ollama leaves counts of 0 out, and the durations too
// where it generated nothing because it was asked for nothing, such as to load a model.
func ollamaOutput(data []byte) Output {
	for _, content := range [...]string{"response", "thinking"} {
		if !isEmpty(member(data, content)) {
			return SomeOutput
		}
	}
	if string(member(data, "done_reason")) != `"stop"` || deltaHasContent(member(data, "message")) {
		return SomeOutput
	}
	if count := member(data, "eval_count"); count != nil {
		return outputOf(count)
	}
	if member(data, "total_duration") == nil {
		return NoContent
	}
	return NoOutput
}

// lmStudioOutput reads chat.end, or a whole answer.
func lmStudioOutput(data []byte) Output {
	if result := member(data, "result"); result != nil {
		data = result
	}
	output := member(data, "output")
	if output == nil || !isEmpty(output) {
		return SomeOutput
	}
	return outputOf(member(member(data, "stats"), "total_output_tokens"))
}

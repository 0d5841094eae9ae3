package ollama

import (
	"bytes"
	"io"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// read reads an answer line by line, up to the one that is done. An unstreamed answer is one such line.
func read(body io.Reader, c *provider.Call) error {
	for text, err := range client.Frames(body, dialect.Lines) {
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if done, err := readLine(text, c); done || err != nil {
			return err
		}
	}
	return nil
}

// readLine handles a line.
func readLine(text []byte, c *provider.Call) (done bool, err error) {
	var answer line
	if err := client.Unmarshal(text, &answer); err != nil {
		return false, err // half a line, or a page
	}
	if dialect.Ollama().FrameKind(dialect.Lines, text) == dialect.Failure {
		return false, c.ErrorEvent(text, nil)
	}
	if !yieldMessage(&answer.Message, c) {
		return true, nil
	}
	if answer.Done {
		if answer.PromptEvalCount+answer.EvalCount > 0 {
			c.Usage(llm.Usage{Input: answer.PromptEvalCount, Output: answer.EvalCount})
		}
		c.End(endReason(answer.DoneReason), answer.Model)
	}
	return answer.Done, nil
}

// yieldMessage yields the content of a message. Calls come whole.
func yieldMessage(m *message, c *provider.Call) bool {
	if m.Thinking != "" && !c.Yield(llm.Reasoning{Text: m.Thinking}) {
		return false
	}
	if m.Content != "" && !c.Yield(llm.Text{Text: m.Content}) {
		return false
	}
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		if !c.Yield(llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}) {
			return false
		}
	}
	return true
}

// endReason returns the reason of an end.
func endReason(reason string) llm.Reason {
	switch reason {
	case "stop", "":
		return llm.Stop
	case "length":
		return llm.Length
	}
	return llm.Other
}

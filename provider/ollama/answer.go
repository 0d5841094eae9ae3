package ollama

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"

	"github.com/ollama/ollama/api"

	"github.com/ridethrough/ridethrough/internal/dialect"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// lineBound is the length limit of a line, in bytes, as in the SDK.
const lineBound = 8_000_000

// read reads an answer line by line, up to the one that is done. An unstreamed answer is one such line.
func read(resp *http.Response, c *provider.Call) error {
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, lineBound)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		done, err := readLine(lines.Bytes(), resp, c)
		if done || err != nil {
			return err
		}
	}
	return lines.Err()
}

// readLine handles a line.
func readLine(line []byte, resp *http.Response, c *provider.Call) (done bool, err error) {
	var answer api.ChatResponse
	if err := json.Unmarshal(line, &answer); err != nil {
		return false, err // half a line, or a page
	}
	if dialect.Ollama().FrameKind(dialect.Lines, line) == dialect.Failure {
		return false, c.ErrorEvent(line, errorOf(resp, line))
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
func yieldMessage(m *api.Message, c *provider.Call) bool {
	if m.Thinking != "" && !c.Yield(llm.Reasoning{Text: m.Thinking}) {
		return false
	}
	if m.Content != "" && !c.Yield(llm.Text{Text: m.Content}) {
		return false
	}
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		arguments := json.RawMessage(call.Function.Arguments.String())
		if !c.Yield(llm.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: arguments}) {
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

// statusError returns an error response as the SDK's client does.
func statusError(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return errorOf(resp, body)
}

// errorOf returns the error in a response, or in a line of it, as the SDK's type.
func errorOf(resp *http.Response, text []byte) error {
	if resp.StatusCode == http.StatusUnauthorized {
		e := api.AuthorizationError{StatusCode: resp.StatusCode, Status: resp.Status}
		_ = json.Unmarshal(text, &e) // package classify reads the body
		return e
	}
	e := api.StatusError{StatusCode: resp.StatusCode, Status: resp.Status}
	if json.Unmarshal(text, &e) != nil {
		e.ErrorMessage = string(text)
	}
	return e
}

package openai

import (
	"encoding/json"

	"github.com/ridethrough/ridethrough/provider/internal/client"
)

// What follows is Chat Completions as OpenAI's reference describes it, with the members that other servers
// add: of a request what is sent, and of an answer what is read.

// chatRequest asks for an answer.
type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Tools               []chatTool     `json:"tools,omitzero"`
	MaxTokens           int            `json:"max_tokens,omitzero"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitzero"`
	ReasoningEffort     string         `json:"reasoning_effort,omitzero"`
	Stream              bool           `json:"stream,omitzero"`
	StreamOptions       *streamOptions `json:"stream_options,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatMessage is a message of a conversation.
type chatMessage struct {
	Role             string     `json:"role"`
	Content          any        `json:"content,omitzero"` // a text, or []chatPart where there are images
	ReasoningContent string     `json:"reasoning_content,omitzero"`
	ToolCalls        []chatCall `json:"tool_calls,omitzero"`
	ToolCallID       string     `json:"tool_call_id,omitzero"` // of a tool's result
}

// chatPart is an image or a text of a user's message.
type chatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitzero"`
	Image *chatImage `json:"image_url,omitzero"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// chatCall is a call in a conversation.
type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

// arguments are a call's, which the APIs have as a text. Some servers send the object itself.
type arguments string

// UnmarshalJSON reads a text, or takes anything else as it is.
func (a *arguments) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(a))
	}
	if *a = arguments(text); *a == "null" {
		*a = ""
	}
	return nil
}

// chatChunk is a chunk of an answer that streams, or all of one that does not.
type chatChunk struct {
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage"`
}

// chatChoice has a delta in a chunk, and a message otherwise.
type chatChoice struct {
	Index        int       `json:"index"`
	Delta        chatDelta `json:"delta"`
	Message      chatDelta `json:"message"`
	FinishReason string    `json:"finish_reason"`
}

// chatDelta is a message of a model, or some of it.
type chatDelta struct {
	Content          chatContent `json:"content"`
	Refusal          string      `json:"refusal"`
	ReasoningContent string      `json:"reasoning_content"` // of DeepSeek and its followers
	Reasoning        string      `json:"reasoning"`         // of others
	ToolCalls        []struct {
		chatCall
		Index int `json:"index"`
	} `json:"tool_calls"`
}

// chatContent is a text, or the parts in which Mistral's reasoning models send it.
type chatContent struct{ text, thought string }

// UnmarshalJSON reads a text or parts; any other form is empty.
func (c *chatContent) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, &c.text)
	}
	type part struct{ Text string }
	var parts []struct {
		part
		Thinking []part
	}
	if err := client.Unmarshal(text, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		for _, t := range p.Thinking {
			c.thought += t.Text
		}
	}
	return nil
}

type chatUsage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	PromptDetails struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

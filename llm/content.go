package llm

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Content is a message's content, in order. As JSON it is an array of objects whose "type" is "text", "image",
// "reasoning", "tool-call" or "tool-result".
type Content []Block

// Text returns the text in the content.
func (c Content) Text() string {
	var b strings.Builder
	for _, block := range c {
		if t, ok := block.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Calls returns the tool calls in the content, in order.
func (c Content) Calls() []ToolCall { return blocks[ToolCall](c) }

// Results returns the results of tools in the content, in order.
func (c Content) Results() []ToolResult { return blocks[ToolResult](c) }

// Images returns the images in the content, in order.
func (c Content) Images() []Image { return blocks[Image](c) }

// blocks returns the blocks of one type.
func blocks[T Block](c Content) (all []T) {
	for _, block := range c {
		if one, ok := block.(T); ok {
			all = append(all, one)
		}
	}
	return all
}

// The types of blocks in JSON.
const (
	typeText       = "text"
	typeImage      = "image"
	typeReasoning  = "reasoning"
	typeToolCall   = "tool-call"
	typeToolResult = "tool-result"
)

// blockJSON is a block of any type as JSON.
type blockJSON struct {
	Type      string          `json:"type"`
	ID        string          `json:"id,omitzero"`
	Name      string          `json:"name,omitzero"`
	Text      string          `json:"text,omitzero"`
	Arguments json.RawMessage `json:"arguments,omitzero"`
	Output    string          `json:"output,omitzero"`
	Failed    bool            `json:"failed,omitzero"`
	Signature string          `json:"signature,omitzero"`
	MediaType string          `json:"mediaType,omitzero"`
	Data      []byte          `json:"data,omitzero"` // of an image, in base64
}

// MarshalJSON encodes the blocks with their types.
func (c Content) MarshalJSON() ([]byte, error) {
	blocks := make([]blockJSON, len(c))
	for i, b := range c {
		switch b := b.(type) {
		case Text:
			blocks[i] = blockJSON{Type: typeText, Text: b.Text}
		case Image:
			blocks[i] = blockJSON{Type: typeImage, Name: b.Name, MediaType: b.MediaType, Data: b.Data}
		case Reasoning:
			blocks[i] = blockJSON{Type: typeReasoning, Text: b.Text, Signature: b.Signature}
		case ToolCall:
			blocks[i] = blockJSON{Type: typeToolCall, ID: b.ID, Name: b.Name, Arguments: b.Arguments, Signature: b.Signature}
		case ToolResult:
			blocks[i] = blockJSON{Type: typeToolResult, ID: b.ID, Name: b.Name, Output: b.Output, Failed: b.Failed}
		default:
			return nil, errors.New("block " + strconv.Itoa(i) + " is missing")
		}
	}
	return json.Marshal(blocks)
}

// UnmarshalJSON decodes what MarshalJSON encodes. A block of unknown type is an error: without it the
// conversation would not be the same.
func (c *Content) UnmarshalJSON(text []byte) error {
	var blocks []blockJSON
	if err := json.Unmarshal(text, &blocks); err != nil {
		return err
	}
	*c = make(Content, len(blocks))
	for i, f := range blocks {
		b, err := f.block()
		if err != nil {
			return errors.New("block " + strconv.Itoa(i) + ": " + err.Error())
		}
		(*c)[i] = b
	}
	return nil
}

// block returns the block.
func (f blockJSON) block() (Block, error) {
	switch f.Type {
	case typeText:
		return Text{f.Text}, nil
	case typeImage:
		image, err := NewImage(f.Name, f.Data)
		if err != nil {
			return nil, errors.New("the image " + err.Error())
		}
		return image, nil
	case typeReasoning:
		return Reasoning{f.Text, f.Signature}, nil
	case typeToolCall:
		return ToolCall{f.ID, f.Name, f.Arguments, f.Signature}, nil
	case typeToolResult:
		return ToolResult{f.ID, f.Name, f.Output, f.Failed}, nil
	}
	return nil, errors.New("unknown type " + strconv.Quote(f.Type))
}

package gemini

import "encoding/json"

// What follows is the API's own form, as ai.google.dev/api/generate-content describes it: of a request what
// is sent, and of an answer what is read.

// request asks for an answer.
type request struct {
	System   *content         `json:"systemInstruction,omitzero"`
	Contents []content        `json:"contents,omitzero"`
	Tools    []tools          `json:"tools,omitzero"`
	Config   generationConfig `json:"generationConfig"`
}

// content is a message of a user or a model.
type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// The roles.
const (
	roleUser  = "user"
	roleModel = "model"
)

// part is a piece of a message: a text or a thought, an image, a call, or the result of one.
type part struct {
	Text      string            `json:"text,omitzero"`
	Image     *blob             `json:"inlineData,omitzero"`
	Thought   bool              `json:"thought,omitzero"` // the text is one
	Signature string            `json:"thoughtSignature,omitzero"`
	Call      *functionCall     `json:"functionCall,omitzero"`
	Result    *functionResponse `json:"functionResponse,omitzero"`
}

// blob has an image; encoding/json writes its bytes in base64.
type blob struct {
	MediaType string `json:"mimeType"`
	Data      []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitzero"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitzero"`
}

type functionResponse struct {
	ID       string            `json:"id,omitzero"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type tools struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitzero"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitzero"`
}

type generationConfig struct {
	MaxOutputTokens int             `json:"maxOutputTokens,omitzero"`
	Thinking        *thinkingConfig `json:"thinkingConfig,omitzero"`
}

// thinkingConfig has a budget or a level.
type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	Budget          int    `json:"thinkingBudget,omitzero"`
	Level           string `json:"thinkingLevel,omitzero"`
}

// chunk is a part of an answer that streams, or all of one that does not.
type chunk struct {
	Candidates []candidate `json:"candidates"`
	Feedback   feedback    `json:"promptFeedback"`
	Usage      *tokens     `json:"usageMetadata"`
	Model      string      `json:"modelVersion"`
}

type candidate struct {
	Content      content `json:"content"`
	FinishReason string  `json:"finishReason"`
}

// feedback states why a prompt was blocked.
type feedback struct {
	Reason  string `json:"blockReason"`
	Message string `json:"blockReasonMessage"`
}

// tokens counts reasoning beside the output, and the input of the API's own tools beside the prompt.
type tokens struct {
	Prompt     int `json:"promptTokenCount"`
	ToolPrompt int `json:"toolUsePromptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
}

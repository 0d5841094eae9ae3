package openai

// What follows is the Responses API as OpenAI's reference describes it: of a request what is sent, and of an
// answer what is read.

// responsesRequest asks for an answer.
type responsesRequest struct {
	Model           string           `json:"model"`
	Instructions    string           `json:"instructions,omitzero"`
	Input           []any            `json:"input,omitzero"` // of the types of items below
	Tools           []function       `json:"tools,omitzero"`
	MaxOutputTokens int              `json:"max_output_tokens,omitzero"`
	Reasoning       *reasoningConfig `json:"reasoning,omitzero"`
	Include         []string         `json:"include,omitzero"`
	Store           bool             `json:"store"`
	Stream          bool             `json:"stream,omitzero"`
}

type reasoningConfig struct {
	Effort  string `json:"effort,omitzero"`
	Summary string `json:"summary,omitzero"`
}

// messageItem is a message of a user or a model.
type messageItem struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or []inputPart where there are images
}

// inputPart is an image or a text of a user's message.
type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitzero"`
	ImageURL string `json:"image_url,omitzero"`
}

// reasoningItem is reasoning as the API gave it. It has no id: without server-side storage the API would not
// find it.
type reasoningItem struct {
	Type      string   `json:"type"`
	Summary   []string `json:"summary"`
	Encrypted string   `json:"encrypted_content"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type resultItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

// responsesEvent is any event of a stream.
type responsesEvent struct {
	Type         string     `json:"type"`
	OutputIndex  int        `json:"output_index"`
	SummaryIndex int        `json:"summary_index"`
	Delta        string     `json:"delta"`
	Item         outputItem `json:"item"`
	Response     response   `json:"response"`
}

// response is an answer at its end.
type response struct {
	Model  string       `json:"model"`
	Status string       `json:"status"`
	Output []outputItem `json:"output"`
	Error  struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *responsesUsage `json:"usage"`
}

// outputItem is a message, reasoning or a call.
type outputItem struct {
	Type             string       `json:"type"`
	ID               string       `json:"id"`
	Summary          []outputPart `json:"summary"`
	Content          []outputPart `json:"content"`
	EncryptedContent string       `json:"encrypted_content"`
	CallID           string       `json:"call_id"`
	Name             string       `json:"name"`
	Arguments        arguments    `json:"arguments"`
}

type outputPart struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type responsesUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

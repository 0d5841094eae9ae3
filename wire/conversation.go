package wire

// ConversationChanged tells with what the turns that begin from here on are
// made. Its members are those with which a conversation is made.
type ConversationChanged struct {
	ConversationID string   `json:"conversationId"`
	Model          string   `json:"model"`               // as "anthropic/claude-opus-4-5"
	Fallback       []string `json:"fallback,omitzero"`   // models that take over, in this order
	Patience       int64    `json:"patienceMs,omitzero"` // how long faults may last before
	System         string   `json:"system,omitzero"`     // the system prompt
	Policy         string   `json:"policy,omitzero"`     // a policy's name; "": the usual one
	Effort         string   `json:"effort,omitzero"`     // "low", "medium" or "high"; "": the model's own
	Title          string   `json:"title,omitzero"`      // for people
}

func (ConversationChanged) kind() string { return "conversation-changed" }

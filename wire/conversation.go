package wire

import (
	"encoding/json"
	"time"
)

// Settings are what the turns of a conversation are made with.
type Settings struct {
	Model    string   `json:"model"`               // as "anthropic/claude-opus-4-5"
	Fallback []string `json:"fallback,omitzero"`   // models that take over, in this order
	Patience Millis   `json:"patienceMs,omitzero"` // how long faults may last before a fallback takes over
	System   string   `json:"system,omitzero"`     // the system prompt
	Policy   string   `json:"policy,omitzero"`     // the name of a policy; "": the default
	Effort   string   `json:"effort,omitzero"`     // how hard the model thinks: "low", "medium" or "high"; "": the model's default
	Title    string   `json:"title,omitzero"`      // shown in lists
}

// ConversationChanged changes the settings of a conversation, with which its next turns are made.
type ConversationChanged struct {
	ConversationID string `json:"conversationId"`
	Settings
}

func (ConversationChanged) kind() string { return "conversation-changed" }

// Millis is a duration that is a whole number of milliseconds in JSON.
type Millis time.Duration

// MarshalJSON writes the milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(m).Milliseconds())
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(text []byte) error {
	var ms int64
	err := json.Unmarshal(text, &ms)
	*m = Millis(time.Duration(ms) * time.Millisecond)
	return err
}

package wire

import "time"

// Settings are what the turns of a conversation are made with.
type Settings struct {
	Model    string   `json:"model"`               // as "anthropic/claude-opus-4-5"
	Fallback []string `json:"fallback,omitzero"`   // models that take over, in this order
	Patience Millis   `json:"patienceMs,omitzero"` // how long faults may last before a fallback takes over
	System   string   `json:"system,omitzero"`     // the system prompt
	Policy   string   `json:"policy,omitzero"`     // the name of a policy; "": the default
	Effort   string   `json:"effort,omitzero"`     // how hard the model thinks: "low", "medium" or "high"; "": the model's default
	Title    string   `json:"title,omitzero"`      // shown in lists; "": the first words
	Agent    string   `json:"agent,omitzero"`      // the agent of the configuration whose tools the model may call; "": it has no tools
	Dir      string   `json:"dir,omitzero"`        // the directory of the file tools, below the agent's files; "": all of these
}

// ConversationChanged changes the settings of a conversation, with which its next turns are made.
type ConversationChanged struct {
	ConversationID string `json:"conversationId"`
	Settings
}

// RecordLost means that the store has lost a part of the conversation's record: what happened in it is not
// known. A turn that was in progress is sealed as failed.
type RecordLost struct {
	ConversationID string    `json:"conversationId"`
	First          int64     `json:"first"`            // the number of the first event that was lost
	Last           int64     `json:"last,omitzero"`    // that of the last one; left out: it is not known
	Noticed        time.Time `json:"noticed,omitzero"` // when the store has noticed it; left out: reading
}

// ConversationPaused means that no turn of the conversation begins and no model is asked until it is resumed. The turn
// in progress stops before it asks a model or runs a tool again.
type ConversationPaused struct {
	ConversationID string `json:"conversationId"`
}

// ConversationResumed means that a paused conversation continues.
type ConversationResumed struct {
	ConversationID string `json:"conversationId"`
}

func (ConversationPaused) kind() string { return "conversation-paused" }

func (ConversationResumed) kind() string { return "conversation-resumed" }

func (RecordLost) kind() string { return "record-lost" }

func (ConversationChanged) kind() string { return "conversation-changed" }

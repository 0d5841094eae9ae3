package turn

// describe returns an event as it is on the wire: its type, and its members where it has some.
func describe(e Event) string {
	text, err := Marshal(e)
	if err != nil || string(text) == "{}" {
		return e.kind()
	}
	return e.kind() + " " + string(text)
}

// String returns the event's type and its members as JSON.
func (e Start) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e UserMessage) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e AssistantMessage) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e ToolCall) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e ToolResult) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Usage) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Compacted) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Switched) String() string { return describe(e) }

// String returns the event's type.
func (e Restarted) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Error) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Sealed) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e TextDelta) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e ReasoningDelta) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Retry) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Waiting) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e Recovered) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e ApprovalRequested) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e ApprovalAnswered) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e MCPRetry) String() string { return describe(e) }

// String returns the event's type and its members as JSON.
func (e MCPRecovered) String() string { return describe(e) }

package display

import (
	"strings"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/terminal/printable"
	"github.com/ridethrough/ridethrough/llm"
)

// Arguments are the arguments of a tool call as JSON without anything that looks like a credential, of any
// length. What is not printable in them is escaped, so that it is seen before a call is allowed.
func Arguments(call llm.ToolCall) string {
	return string(printable.JSON([]byte(fault.Scrub(string(call.Arguments)))))
}

// Capitalize starts a text with a capital letter.
func Capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

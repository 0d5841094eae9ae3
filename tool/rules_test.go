package tool_test

import (
	"testing"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
)

func TestRules_DenyBeforeAskBeforeAllow(t *testing.T) {
	reads, writes := tool.Tool{Tool: llm.Tool{Name: "read_file"}}, tool.Tool{Tool: llm.Tool{Name: "mcp__git__push"}, Writes: true}
	for _, tt := range []struct {
		rules tool.Rules
		of    tool.Tool
		want  tool.Permission
	}{
		{tool.Rules{}, reads, tool.Allow},
		{tool.Rules{}, writes, tool.Ask},
		{tool.Rules{Ask: []string{"read_*"}}, reads, tool.Ask},
		{tool.Rules{Allow: []string{"mcp__git__*"}}, writes, tool.Allow},
		{tool.Rules{Allow: []string{"*"}, Ask: []string{"*push"}}, writes, tool.Ask},
		{tool.Rules{Allow: []string{"*"}, Ask: []string{"*"}, Deny: []string{"mcp__*"}}, writes, tool.Deny},
		{tool.Rules{Deny: []string{"read_file"}}, reads, tool.Deny},
		{tool.Rules{Deny: []string{"[", "push"}}, writes, tool.Ask},
	} {
		if got := tt.rules.Of(tt.of); got != tt.want {
			t.Errorf("permission of %s by %v: got %s, want %s", tt.of.Name, tt.rules, got, tt.want)
		}
	}
}

package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool/mcp"
)

func ExampleConnect() {
	clock := sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	sdk.AddTool(clock, &sdk.Tool{Name: "now", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "noon"}}}, nil, nil
		})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return clock }, nil))
	defer server.Close()

	connection, err := mcp.Connect(context.Background(), mcp.Server{Name: "clock", URL: server.URL})
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	for _, t := range connection.Tools() {
		result := t.Run(context.Background(), llm.ToolCall{ID: "1", Name: t.Name})
		fmt.Println(t.Name, t.Writes, result.Output)
	}
	// Output: mcp__clock__now false noon
}

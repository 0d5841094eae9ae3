package app_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/app"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/turn"
)

// toolServer is an MCP server over HTTP with one tool, which records the keys of its clients.
type toolServer struct {
	*httptest.Server
	mu       sync.Mutex
	keys     []string
	sessions int
}

func serveTool(t *testing.T) *toolServer {
	t.Helper()
	made := &toolServer{}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{InitializedHandler: func(context.Context, *sdk.InitializedRequest) {
		made.mu.Lock()
		defer made.mu.Unlock()
		made.sessions++
	}})
	sdk.AddTool(s, &sdk.Tool{Name: "now"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "noon"}}}, nil, nil
	})
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	made.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made.mu.Lock()
		made.keys = append(made.keys, r.Header.Get("Authorization"))
		made.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(made.Close)
	return made
}

func (s *toolServer) seen() (sessions int, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions, slices.Compact(slices.Clone(s.keys))
}

// boxOf returns a toolbox for whatever configuration is in force.
func boxOf(t *testing.T, now func() *config.Config) *app.Toolbox {
	b := &app.Toolbox{
		Env: env(""), Log: slog.New(slog.DiscardHandler), Stderr: func(string) io.Writer { return io.Discard },
		Agent: func(name string) (config.Agent, error) { return now().Agent(name, env("")) },
	}
	t.Cleanup(b.Close)
	return b
}

func namesOf(tools []tool.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

func TestToolbox_ConnectionIsSharedUntilItsConfigurationChanges(t *testing.T) {
	server := serveTool(t)
	key := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	write("Bearer one\n")
	text := "mcp: {clock: {url: " + server.URL + ", headers: {Authorization: {file: " + key + "}}}}\nagents: {a: {mcp: [clock]}}\n"
	now := parse(t, text)
	box := boxOf(t, func() *config.Config { return now })
	open := func(ctx context.Context) tool.Tool {
		a, err := box.Agent("a")
		if err != nil {
			t.Fatalf("Agent: %v", err)
		}
		tools, err := box.Open(ctx, a, "")
		if names := namesOf(tools); err != nil || !slices.Equal(names, []string{"mcp__clock__now"}) {
			t.Fatalf("Open: got %v, %v, want the server's tool", names, err)
		}
		return tools[0]
	}
	one, leave := context.WithCancel(t.Context())
	first := open(one)
	open(t.Context())
	now = parse(t, "log: debug\n"+text) // another file, the same server
	open(t.Context())
	if sessions, _ := server.seen(); sessions != 1 {
		t.Errorf("sessions of three turns: got %d, want 1", sessions)
	}
	write("Bearer second\n")
	call := llm.ToolCall{ID: "1", Name: "mcp__clock__now"}
	if got := first.Run(t.Context(), call).Output; got != "noon" {
		t.Errorf("call with a key that was replaced: got %q, want noon", got)
	}
	now = parse(t, strings.Replace(text, "}}}\nagents", "}, timeout: 1m}}\nagents", 1))
	open(t.Context())
	if got := first.Run(t.Context(), call).Output; got != "noon" {
		t.Errorf("call of a turn from before the change: got %q, want noon", got)
	}
	leave()
	sessions, keys := server.seen()
	if want := []string{"Bearer one", "Bearer second"}; sessions != 2 || !slices.Equal(keys, want) {
		t.Errorf("sessions after the change, keys: got %d, %q, want 2, %q", sessions, keys, want)
	}
}

func TestToolbox_SecondTurnDoesNotWaitForAServerThatIsDown(t *testing.T) {
	now := parse(t, "mcp: {gone: {url: 'http://127.0.0.1:1/', policy: {backoff: [1ms], retries: 3}}}\nagents: {a: {mcp: [gone]}}\n")
	box := boxOf(t, func() *config.Config { return now })
	a, err := box.Agent("a")
	if err != nil {
		t.Fatalf("Agent: %v", err)
	}
	waits := 0
	ctx := tool.WithWatch(t.Context(), func(turn.Event) { waits++ })
	for range 3 {
		if tools, err := box.Open(ctx, a, ""); err == nil || len(tools) != 0 {
			t.Errorf("Open: got %d tools, %v, want an error", len(tools), err)
		}
	}
	if waits != 3 {
		t.Errorf("waits of three turns: got %d, want those of the first, 3", waits)
	}
}

func TestAgents_TurnGoesOnWithoutAnMCPServerThatIsDown(t *testing.T) {
	dir := t.TempDir()
	now := parse(t, "mcp: {gone: {url: 'http://127.0.0.1:1/', policy: none}}\nagents: {a: {mcp: [gone], files: "+dir+", deny: [read_file]}}\n")
	w := app.Agents{Models: modelsOf(now, "ANTHROPIC_API_KEY=k"), Toolbox: boxOf(t, func() *config.Config { return now })}
	s := conversation.Settings{Model: "anthropic/m", Agent: "a"}
	if _, err := w.Validate(s); err != nil {
		t.Errorf("Validate: got %v, want nil", err)
	}
	a, err := w.Agent(t.Context(), s)
	if names := namesOf(a.Tools); err != nil || !slices.Equal(names, []string{"list_files", "read_file", "search_files"}) {
		t.Errorf("Agent: got the tools %v, %v, want the file tools", names, err)
	}
	if got := a.Rules.Of(a.Tools[1]); got != tool.Deny {
		t.Errorf("permission of read_file: got %s, want deny", got)
	}
	if _, err := w.Agent(t.Context(), conversation.Settings{Model: "anthropic/m", Agent: "b"}); err == nil || !strings.Contains(err.Error(), `unknown agent "b"`) {
		t.Errorf("Agent of an unknown name: got %v, want an error", err)
	}
}

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/tool"
	"github.com/ridethrough/ridethrough/tool/mcp"
)

// offer makes an MCP server with a tool for everything that may come back.
func offer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, a *sdk.ToolAnnotations, f func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", Annotations: a, InputSchema: json.RawMessage(`{"type":"object"}`)}, f)
	}
	says := func(content ...sdk.Content) func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: content}, nil
		}
	}
	add("echo", &sdk.ToolAnnotations{ReadOnlyHint: true}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	add("put", &sdk.ToolAnnotations{IdempotentHint: true}, says())
	add("several", nil, says(&sdk.TextContent{Text: "one"}, &sdk.TextContent{Text: "two"}))
	add("image", nil, says(&sdk.ImageContent{MIMEType: "image/png", Data: []byte("1234")}))
	add("audio", nil, says(&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("1234")}))
	add("link", nil, says(&sdk.ResourceLink{Name: "notes", URI: "file:///notes"}))
	add("text-resource", nil, says(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a:b", Text: "inside"}}))
	add("blob", nil, says(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a:b", MIMEType: "x/y", Blob: []byte("123")}}))
	add("huge", nil, says(&sdk.TextContent{Text: strings.Repeat("x", 1<<20)}))
	add("structured", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]int{"a": 1}}, nil
	})
	add("both", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a is 1"}}, StructuredContent: map[string]int{"a": 1}}, nil
	})
	add("fails", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such thing"}}}, nil
	})
	add("fails-silently", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{}}, nil
	})
	add("refuses", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("bad key=sk-ant-api03-0123456789abcdef")
	})
	add("hangs", nil, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("sleeps", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		time.Sleep(time.Hour) // in a bubble only
		return &sdk.CallToolResult{}, nil
	})
	add("exits", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
		return nil, nil
	})
	return s
}

// run runs a tool on arguments and returns its output, with ! in front of that of
// a failed one.
func run(ctx context.Context, t tool.Tool, arguments string) string {
	r := t.Run(ctx, llm.ToolCall{ID: "1", Name: t.Name, Arguments: json.RawMessage(arguments)})
	if r.Failed {
		return "!" + r.Output
	}
	return r.Output
}

// web serves MCP over HTTP in memory, so that time in a bubble is virtual.
func web(t *testing.T, h http.Handler) mcp.Server {
	t.Helper()
	pipe := simulator.NewPipe()
	server := &http.Server{Handler: h}
	go server.Serve(pipe)
	transport := &http.Transport{DialContext: pipe.DialContext}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return mcp.Server{Name: "test", URL: "http://mcp.test/", Client: &http.Client{Transport: transport}}
}

// The ways in which a server may speak HTTP. One that has sessions waits for
// calls in progress when its client closes, and holds a lock meanwhile, in
// which no virtual time passes.
const (
	sessions = iota
	stateless
	whole
)

func handler(s *sdk.Server, way int) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
		Stateless: way == stateless, JSONResponse: way == whole, DisableLocalhostProtection: true,
	})
}

// connected returns the tools of a server by the names that it has for them.
func connected(t *testing.T, s mcp.Server) (map[string]tool.Tool, *mcp.Client) {
	t.Helper()
	m, err := mcp.Connect(t.Context(), s)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { m.Close() })
	tools := map[string]tool.Tool{}
	for _, x := range m.Tools() {
		tools[strings.TrimPrefix(x.Name, "mcp__test__")] = x
	}
	return tools, m
}

// answers is what the tools of offer give, on whatever way.
func answers(t *testing.T, tools map[string]tool.Tool) {
	t.Helper()
	for name, want := range map[string]string{
		"echo":           `{"a":1}`,
		"put":            "",
		"several":        "one\ntwo",
		"image":          "[image, image/png, 4 bytes: not shown]",
		"audio":          "[audio, audio/wav, 4 bytes: not shown]",
		"link":           "[resource notes: file:///notes]",
		"text-resource":  "inside",
		"blob":           "[resource a:b, x/y, 3 bytes: not shown]",
		"structured":     `{"a":1}`,
		"both":           "a is 1",
		"fails":          "!no such thing",
		"fails-silently": "!the tool failed without a message",
		"refuses":        "!bad key=***",
		"huge":           strings.Repeat("x", 32<<10) + "\n[983040 bytes are left out here]\n" + strings.Repeat("x", 32<<10),
	} {
		if diff := cmp.Diff(want, run(t.Context(), tools[name], `{"a":1}`)); diff != "" {
			t.Errorf("output of %s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestClient_HTTP(t *testing.T) {
	for name, way := range map[string]int{"with sessions": sessions, "stateless": stateless, "in JSON": whole} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tools, m := connected(t, web(t, handler(offer(), way)))
				answers(t, tools)
				m.Close()
			})
		})
	}
}

func TestClient_ReadOnlyTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools, m := connected(t, web(t, handler(offer(), sessions)))
		for name, want := range map[string][2]bool{"echo": {false, true}, "put": {true, true}, "several": {true, false}} {
			if x := tools[name]; x.Writes != want[0] || x.Repeatable() != want[1] {
				t.Errorf("%s: writes %v, repeatable %v", name, x.Writes, x.Repeatable())
			}
		}
		x := tools["echo"]
		if x.Name != "mcp__test__echo" || x.Description != "Does echo." || string(x.Schema) != `{"type":"object"}` {
			t.Errorf("tool: got %s, %q and %s, want mcp__test__echo, %q and an object", x.Name, x.Description, x.Schema, "Does echo.")
		}
		m.Close()
	})
}

func TestClient_ToolsOfAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, &sdk.ServerOptions{PageSize: 7})
		for i := range 1000 {
			s.AddTool(&sdk.Tool{Name: fmt.Sprintf("tool%04d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		}
		m, err := mcp.Connect(t.Context(), web(t, handler(s, sessions)))
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer m.Close()
		tools := m.Tools()
		if len(tools) != 1000 || tools[999].Name != "mcp__test__tool0999" {
			t.Errorf("%d tools, want those of all pages", len(tools))
		}
	})
}

func TestClient_ToolNamesAreLegalAndUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sdk.NewServer(&sdk.Implementation{Name: "names", Version: "1"}, nil)
		long := strings.Repeat("long", 20)
		for _, name := range []string{"a.b", "a_b", "a/b", long, long + "er"} {
			s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name}}}, nil
			})
		}
		server := web(t, handler(s, sessions))
		server.Name = "my server"
		m, err := mcp.Connect(t.Context(), server)
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		defer m.Close()
		var names, answers []string
		for _, x := range m.Tools() {
			names, answers = append(names, x.Name), append(answers, run(t.Context(), x, ""))
			if len(x.Name) > 64 || strings.ContainsAny(x.Name, " ./") {
				t.Errorf("illegal name %q", x.Name)
			}
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != 5 || !slices.Contains(names, "mcp__my_server__a_b") {
			t.Errorf("names: %q", names)
		}
		slices.Sort(answers)
		if diff := cmp.Diff([]string{"a.b", "a/b", "a_b", long, long + "er"}, answers); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestClient_CallTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := web(t, handler(offer(), stateless))
		server.Timeout = 10 * time.Second
		tools, m := connected(t, server)
		began := time.Now()
		if got, want := run(t.Context(), tools["sleeps"], ""), "!stopped: no answer within 10s; its effects until then are not known"; got != want {
			t.Errorf("result %q", got)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("took %v, want less", took)
		}
		if got := run(t.Context(), tools["echo"], ""); got != "{}" {
			t.Errorf("call afterwards: %q", got)
		}
		m.Close()
		time.Sleep(time.Hour) // until the server wakes up
	})
}

func TestClient_CloseEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools, m := connected(t, web(t, handler(offer(), stateless)))
		defer time.AfterFunc(time.Second, func() { m.Close() }).Stop()
		began := time.Now()
		if got, want := run(t.Context(), tools["sleeps"], ""), "!the connection to the server is closed"; got != want {
			t.Errorf("result %q", got)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v, want less", took)
		}
		if got, want := run(t.Context(), tools["echo"], ""), "!the connection to the server is closed"; got != want {
			t.Errorf("afterwards: got %q", got)
		}
		time.Sleep(time.Hour)
	})
}

func TestConnect_TimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := web(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}))
		_, err := mcp.Connect(t.Context(), server)
		if want := "mcp server test: no connection within 1m0s"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// A server of an older protocol may leave the newest's first request without an answer.
func TestConnect_ServerThatDoesNotAnswerDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		older := handler(offer(), stateless)
		server := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"server/discover"`)) {
				asked.Add(1)
				<-r.Context().Done()
				return
			}
			older.ServeHTTP(w, r)
		}))
		began := time.Now()
		tools, m := connected(t, server)
		if took := time.Since(began); asked.Load() != 1 || took > 11*time.Second || len(tools) == 0 {
			t.Errorf("%d tools after %v and %d such requests, want some within 11s", len(tools), took, asked.Load())
		}
		answers(t, tools)
		m.Close()
	})
}

func TestConnect_BadServer(t *testing.T) {
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	for _, s := range []mcp.Server{
		{},
		{Command: "a", URL: "http://127.0.0.1/"},
		{URL: "ftp://127.0.0.1/"},
		{URL: "127.0.0.1"},
		{URL: page.URL},
		{URL: "http://127.0.0.1:1"},
		{Command: "no-such-program-anywhere"},
	} {
		if m, err := mcp.Connect(t.Context(), s); err == nil {
			m.Close()
			t.Errorf("%+v: no error", s)
		}
	}
}

// TestClient_BrokenAnswersAreFailedResults is about a server that is cut off while it
// answers, with every way of being cut off.
func TestClient_BrokenAnswersAreFailedResults(t *testing.T) {
	for name, breaks := range map[string]func(w http.ResponseWriter){
		"no answer":          func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"half an event":      func(w http.ResponseWriter) { stream(w, "data: {\"jsonrpc\"") },
		"an empty stream":    func(w http.ResponseWriter) { stream(w, "") },
		"a page":             func(w http.ResponseWriter) { fmt.Fprint(w, "<html>") },
		"status 500":         func(w http.ResponseWriter) { w.WriteHeader(500) },
		"status 503":         func(w http.ResponseWriter) { w.WriteHeader(503) },
		"status 401":         func(w http.ResponseWriter) { w.WriteHeader(401) },
		"a session that was": func(w http.ResponseWriter) { w.WriteHeader(404) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				h := handler(offer(), stateless)
				tools, m := connected(t, web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if broken.Load() {
						breaks(w)
						return
					}
					h.ServeHTTP(w, r)
				})))
				broken.Store(true)
				if got := run(t.Context(), tools["echo"], ""); !strings.HasPrefix(got, "!") {
					t.Errorf("result %q", got)
				}
				m.Close()
			})
		})
	}
}

func TestClient_ReconnectsToRestartedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var restarted atomic.Bool
		server := offer()
		before, after := handler(server, sessions), handler(offer(), sessions)
		tools, m := connected(t, web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if restarted.Load() {
				after.ServeHTTP(w, r)
			} else {
				before.ServeHTTP(w, r)
			}
		})))
		for s := range server.Sessions() {
			s.Close()
		}
		restarted.Store(true)
		if got := run(t.Context(), tools["echo"], ""); !strings.HasPrefix(got, "!") {
			t.Errorf("with the old session: %q", got)
		}
		synctest.Wait()
		if got := run(t.Context(), tools["echo"], ""); got != "{}" {
			t.Errorf("the next call: %q", got)
		}
		m.Close()
	})
}

// stream begins a stream of events and breaks off.
func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, text)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestConnect_HeadersStayAtTheHost(t *testing.T) {
	var seen atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "" {
			t.Error("the key went to another host")
		}
		seen.Add(1)
	}))
	defer other.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" {
			t.Error("request to the server's host without the key")
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer home.Close()
	header := func() (http.Header, error) { return http.Header{"x-key": {"secret"}}, nil }
	if _, err := mcp.Connect(t.Context(), mcp.Server{URL: home.URL, Header: header}); err == nil {
		t.Error("no error")
	}
	if seen.Load() == 0 {
		t.Error("the redirect was not followed")
	}
}

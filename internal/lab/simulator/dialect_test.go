package simulator_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// events returns the names and data of a stream, "name data" each.
func events(body string) []string {
	var all []string
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if block == "" {
			continue
		}
		name, data, named := strings.Cut(block, "\n")
		if !named {
			name, data = "", block
		}
		all = append(all, strings.TrimPrefix(name, "event: ")+" "+strings.TrimPrefix(data, "data: "))
	}
	return all
}

// kinds summarises a stream: the type of each Anthropic event, the subject of
// each OpenAI chunk.
func kinds(body string) string {
	var all []string
	for _, event := range events(body) {
		name, data, _ := strings.Cut(event, " ")
		if name == "" {
			name = chunkKind(data)
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func chunkKind(data string) string {
	for mark, kind := range map[string]string{
		`"role":`: "role", `{"content":`: "content", `"finish_reason":"stop"`: "finish", `"error":`: "error",
		`"choices":[]`: "usage", `[DONE]`: "done",
	} {
		if strings.Contains(data, mark) {
			return kind
		}
	}
	return "?" + data
}

// text returns the text of a streamed answer.
func text(t *testing.T, body string) string {
	t.Helper()
	var all strings.Builder
	for _, event := range events(body) {
		var e struct {
			Delta   struct{ Text string }
			Choices []struct{ Delta struct{ Content string } }
		}
		_, data, _ := strings.Cut(event, " ")
		if err := json.Unmarshal([]byte(data), &e); err != nil && data != "[DONE]" {
			t.Errorf("event %s: %v", data, err)
		}
		all.WriteString(e.Delta.Text)
		for _, c := range e.Choices {
			all.WriteString(c.Delta.Content)
		}
	}
	return all.String()
}

const (
	anthropicOpening = "message_start content_block_start ping"
	anthropicEnding  = "content_block_stop message_delta message_stop"
	word             = " content_block_delta"
)

func TestProvider_StreamFaultsOnTheWire(t *testing.T) {
	for _, row := range []struct {
		reply, path, want string
		broken            bool
	}{
		{"ok", messages, anthropicOpening + word + word + word + " " + anthropicEnding, false},
		{"error-first", messages, "error", false},
		{"role-error", messages, anthropicOpening + " error", false},
		{"cut:0", messages, anthropicOpening, true},
		{"cut:2", messages, anthropicOpening + word + word, true},
		{"cut:9", messages, anthropicOpening + word + word + word, true},
		{"cut:1:clean", messages, anthropicOpening + word, false},
		{"cut:1:done", messages, anthropicOpening + word + " " + anthropicEnding, false},
		{"empty", messages, "", false},
		{"drip:1h", messages, anthropicOpening + word + word + word + " " + anthropicEnding, false},
		{"ok", completions, "role content content content finish done", false},
		{"error-first", completions, "error", false},
		{"role-error", completions, "role error", false},
		{"cut:2", completions, "role content content", true},
		{"cut:2:clean", completions, "role content content", false},
		{"cut:2:done", completions, "role content content finish done", false},
		{"empty", completions, "", false},
	} {
		t.Run(row.path+" "+row.reply, func(t *testing.T) {
			script := simulator.Script{Answer: "one two three", Replies: parse(t, row.reply)}
			bubble(t, script, func(t *testing.T, p *simulator.Provider) {
				got := ask(t, p, row.path, streamed)
				if got.status != 200 || got.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
					t.Errorf("head: %d %v", got.status, got.header)
				}
				if broken := errors.Is(got.err, io.ErrUnexpectedEOF); broken != row.broken {
					t.Errorf("end: %v", got.err)
				}
				if kinds(got.body) != row.want {
					t.Errorf("events: %s\nwant:   %s", kinds(got.body), row.want)
				}
				if !strings.HasPrefix("one two three", text(t, got.body)) {
					t.Errorf("text: %q", text(t, got.body))
				}
			})
		})
	}
}

func TestProvider_StreamFaultsInJSON(t *testing.T) {
	for _, row := range []struct {
		reply          string
		valid, failure bool
		broken         bool
	}{
		{"ok", true, false, false},
		{"drip:1h", true, false, false},
		{"error-first", true, true, false},
		{"role-error", true, true, false},
		{"error-200", true, true, false},
		{"cut:2", false, false, true},
		{"cut:2:clean", false, false, false},
		{"cut:2:done", true, false, false},
		{"empty", false, false, false},
	} {
		for _, path := range []string{messages, completions} {
			bubble(t, simulator.Script{Replies: parse(t, row.reply)}, func(t *testing.T, p *simulator.Provider) {
				got := ask(t, p, path, plain)
				failure := strings.Contains(got.body, `"error":`)
				if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
					t.Errorf("%s: head %d %v", row.reply, got.status, got.header)
				}
				if json.Valid([]byte(got.body)) != row.valid || failure != row.failure {
					t.Errorf("%s: body %s", row.reply, got.body)
				}
				if broken := errors.Is(got.err, io.ErrUnexpectedEOF); broken != row.broken {
					t.Errorf("%s: end %v", row.reply, got.err)
				}
			})
		}
	}
}

func TestProvider_HTMLAndErrorBodiesHaveStatus200(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "html, error-200")}, func(t *testing.T, p *simulator.Provider) {
		html, failure := ask(t, p, messages, streamed), ask(t, p, messages, streamed)
		if html.status != 200 || !strings.HasPrefix(html.header.Get("Content-Type"), "text/html") || !strings.HasPrefix(html.body, "<!DOCTYPE html>") {
			t.Errorf("html: %+v", html)
		}
		if failure.status != 200 || failure.header.Get("Content-Type") != "application/json" || !strings.Contains(failure.body, "overloaded_error") {
			t.Errorf("error: %+v", failure)
		}
	})
}

func TestProvider_ResetInMemory(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "reset, ok, reset")}, func(t *testing.T, p *simulator.Provider) {
		for i := range 3 {
			got := ask(t, p, messages, plain)
			if reset := errors.Is(got.err, syscall.ECONNRESET); reset != (i != 1) {
				t.Errorf("request %d: %+v", i+1, got)
			}
		}
	})
}

func TestProvider_ErrorsHaveTheVendorsForm(t *testing.T) {
	for _, row := range []struct {
		path, body, reply string
		status            int
		want              string
	}{
		{messages, plain, "529", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_000001"}`},
		{messages, plain, "429", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit."},"request_id":"req_000001"}`},
		{messages, plain, "401", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_000001"}`},
		{messages, plain, "503", 503, `{"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req_000001"}`},
		{messages, `{}`, "529", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"model: Field required"},"request_id":"req_000001"}`},
		{messages + "/elsewhere", plain, "", 404, `{"type":"error","error":{"type":"not_found_error","message":"Invalid URL (POST /v1/messages/elsewhere)"},"request_id":"req_000001"}`},
		{completions, plain, "503", 503, `{"error":{"message":"Our servers are currently overloaded. Please try again later.","type":"service_unavailable_error","param":null,"code":"server_is_overloaded"}}`},
		{completions, plain, "500", 500, `{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":"server_error"}}`},
		{completions, plain, "429", 429, `{"error":{"message":"Rate limit reached for requests.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{completions, `[]`, "", 400, ""},
		{completions, `{}`, "", 400, `{"error":{"message":"you must provide a model parameter","type":"invalid_request_error","param":null,"code":null}}`},
		{"/elsewhere", plain, "", 404, `{"error":{"message":"Invalid URL (POST /elsewhere)","type":"invalid_request_error","param":null,"code":null}}`},
	} {
		bubble(t, simulator.Script{Replies: parse(t, row.reply)}, func(t *testing.T, p *simulator.Provider) {
			got := ask(t, p, row.path, row.body)
			if got.status != row.status || row.want != "" && got.body != row.want || !json.Valid([]byte(got.body)) {
				t.Errorf("%s %s %s:\ngot  %d %s\nwant %d %s", row.path, row.body, row.reply, got.status, got.body, row.status, row.want)
			}
			if got.header.Get("Content-Type") != "application/json" {
				t.Errorf("header of %s: got %v, want JSON as its content type", row.reply, got.header)
			}
		})
	}
}

func TestProvider_EveryStatusHasAnError(t *testing.T) {
	for code := 400; code < 600; code++ {
		bubble(t, simulator.Script{Then: simulator.Status{Code: code}}, func(t *testing.T, p *simulator.Provider) {
			for _, path := range []string{messages, completions} {
				var body struct {
					Error struct{ Type, Message string }
				}
				got := ask(t, p, path, plain)
				if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != code || body.Error.Type == "" || body.Error.Message == "" {
					t.Errorf("reply %d: got %+v, want an error in JSON with that status", code, got)
				}
			}
		})
	}
}

func TestProvider_CountsRequestIDs(t *testing.T) {
	bubble(t, simulator.Script{Replies: parse(t, "529, html, empty")}, func(t *testing.T, p *simulator.Provider) {
		for _, row := range []struct{ path, header, want string }{
			{messages, "request-id", "req_000001"},
			{completions, "x-request-id", "req_000002"},
			{messages, "request-id", "req_000003"},
			{"/elsewhere", "x-request-id", "req_000004"},
			{messages, "request-id", "req_000005"},
		} {
			if got := ask(t, p, row.path, streamed).header.Get(row.header); got != row.want {
				t.Errorf("%s: %q, want %q", row.path, got, row.want)
			}
		}
	})
}

func TestProvider_AnswerHasModelAndUsage(t *testing.T) {
	const body = `{"model":"a \"quoted\" name","stream":true,"stream_options":{"include_usage":true}}`
	bubble(t, simulator.Script{Answer: "one two"}, func(t *testing.T, p *simulator.Provider) {
		for _, path := range []string{messages, completions} {
			if got := ask(t, p, path, body); !strings.Contains(got.body, `"model":"a \"quoted\" name"`) {
				t.Errorf("answer of %s: got %s, want the quoted name of the model in it", path, got.body)
			}
		}
		got := ask(t, p, completions, body)
		if kinds(got.body) != "role content content finish usage done" {
			t.Errorf("events: %s", kinds(got.body))
		}
		if !strings.Contains(got.body, `"usage":{"prompt_tokens":21,"completion_tokens":2,"total_tokens":23`) {
			t.Errorf("usage: %s", got.body)
		}
	})
}

func TestProvider_SideEndpointsUseNoReply(t *testing.T) {
	bubble(t, simulator.Script{Then: simulator.Status{Code: 529}}, func(t *testing.T, p *simulator.Provider) {
		models := func(version string) string {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://simulator/v1/models", nil)
			if err != nil {
				t.Fatalf("new request with context: %v", err)
			}
			if version != "" {
				req.Header.Set("anthropic-version", version)
			}
			return do(p.Client(), req).body
		}
		if got := models("2023-06-01"); !strings.Contains(got, `"has_more":false`) {
			t.Errorf("Anthropic's models: %s", got)
		}
		if got := models(""); !strings.Contains(got, `"object":"list"`) {
			t.Errorf("OpenAI's models: %s", got)
		}
		if got := ask(t, p, "/v1/messages/count_tokens", plain); got.body != `{"input_tokens":4}` {
			t.Errorf("tokens: %s", got.body)
		}
	})
}

func TestOutage_IncludesSideEndpoints(t *testing.T) {
	script := simulator.Script{Outages: []simulator.Outage{{To: time.Minute}}}
	bubble(t, script, func(t *testing.T, p *simulator.Provider) {
		if got := ask(t, p, "/v1/messages/count_tokens", plain); got.status != 529 {
			t.Errorf("status %d", got.status)
		}
	})
}

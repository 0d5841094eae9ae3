package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// The user agents of agents with a loop of their own.
const (
	codexExec = "codex_exec/0.169.0 (Debian 12.0.0; x86_64)"
	geminiCLI = "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)"
	qwenCode  = "QwenCode/0.24.4 (linux; x64)"
	opencode  = "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14"
	cline     = "ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30"
	kilo      = "Kilo-Code/7.7.9 ai-sdk/provider-utils/4.0.27 runtime/bun/1.3.14"
	vercel    = "ai-sdk/anthropic/4.0.42 ai-sdk/provider-utils/5.0.30 runtime/bun/1.3.13"
	vercel7   = "ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2"
	whole7    = "ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2" // of generateText
	pi        = "pi (linux 6.18.44; x64)"
	pi1       = "pi/1.6.0 (linux; node/v22.23.3; x64)"
	plainSDK  = "OpenAI/Python 2.8.1"
)

const (
	messages  = "/v1/messages"
	chat      = "/v1/chat/completions"
	responses = "/v1/responses"
	google    = "/v1beta/models/gemini-3:streamGenerateContent?alt=sse"
)

// inContinue and inPi begin the instructions of agents whose User-Agent is that of an SDK.
const (
	inContinue = "You are an agent in the Continue CLI. Given the user's prompt, you should use the tools available."
	inPi       = "You are an expert coding assistant operating inside pi, a coding agent harness."
	inPi1      = "You are a coding assistant running inside pi, a coding agent harness."
	inCline    = "You are Cline, an AI coding agent. Your primary goal is to assist users with various coding tasks."
)

// instructed returns the body of a request with instructions, after metadata of a given size.
func instructed(path, instructions string, behind int) string {
	head := `{"metadata":{"x":"` + strings.Repeat("x", behind) + `"},`
	if path == messages {
		return strings.Replace(bodyOf(path), "{", head+`"system":[{"type":"text","text":"`+instructions+`"}],`, 1)
	}
	return strings.Replace(strings.Replace(bodyOf(path), "{", head, 1), `"messages":[`, `"messages":[{"role":"system","content":"`+instructions+`"},`, 1)
}

// bodyOf returns the body of a request to an API.
func bodyOf(path string) string {
	for _, api := range apis {
		if api.path == path {
			return api.body
		}
	}
	return ""
}

func TestGiveUp_LastErrorEndsTheClientsOwnLoop(t *testing.T) {
	const words = "gave up after 3 retries in 7s: HTTP 503: "
	tests := []struct {
		name, path, agent string
		last              string // the stream ends with it, behind the words
		event             string // and has this
		cut               bool   // by an error of the coding in chunks; Gemini CLI's streams have none
		again             int    // the status of the same request, sent again
		body              string // and what is in its body
	}{
		{"Claude Code", messages, claudeCode, "\n\n", `event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error"`, false, 400, "billing_error"},
		{"Claude Code on Vertex AI", vertexClaude + ":streamRawPredict", claudeCode, "\n\n", `event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error"`, false, 400, "billing_error"},
		{"a client of Cohere", "/v2/chat", plainSDK, "\n\n", `data: {"type":"message-end","delta":{"error":"ridethrough: gave up`, true, 503, `{"message":"ridethrough: `},
		{"Codex", responses, codexExec, "\n\n", `"code":"invalid_prompt"`, false, 400, "invalid_request_error"},
		{"Gemini CLI", google, geminiCLI, `","status":"FAILED_PRECONDITION"}}`, "\n\n" + `{"error":{"code":400,`, false, 400, "INVALID_ARGUMENT"},
		{"Qwen Code", chat, qwenCode, "\n\n", `"type":"server_error"`, true, 400, "invalid_request_error"},
		{"cline", chat, cline, "\n\n", `"type":"server_error"`, true, 400, "invalid_request_error"},
		{"Vercel's SDK 7", chat, vercel7, "\n\n", `"type":"server_error"`, true, 400, "invalid_request_error"},
		{"another client", chat, plainSDK, "\n\n", `"type":"server_error"`, true, 503, "server_error"},
		{"another client of Google's", google, plainSDK, "\r\n\r\n", `data: {"error":{"code":503,`, true, 503, "UNAVAILABLE"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Simple(), simulator.Script{Then: simulator.Status{Code: 503}})
			resp, text, err := w.get(tt.path, bodyOf(tt.path), "User-Agent", tt.agent)
			if resp.StatusCode != 200 || !strings.Contains(text, words) || !strings.Contains(text, tt.event) || !strings.HasSuffix(text, tt.last) || (err != nil) != tt.cut {
				t.Errorf("%s: got %q, error %v, want %q with %q, cut: %v", tt.name, text, err, tt.event, words, tt.cut)
			}
			time.Sleep(2 * time.Second)
			resp, text, _ = w.get(tt.path, bodyOf(tt.path), "User-Agent", tt.agent)
			if resp.StatusCode != tt.again || !strings.Contains(text, tt.body) || !strings.Contains(text, "HTTP 503: ") {
				t.Errorf("%s, again: got %d %s, want %d with %s and the provider's words", tt.name, resp.StatusCode, text, tt.again, tt.body)
			}
			if asksAgain := tt.again == 503; (resp.Header.Get("Retry-After") != "") != asksAgain {
				t.Errorf("%s, again: Retry-After is %q", tt.name, resp.Header.Get("Retry-After"))
			}
		})
	}
}

// Claude Code 2.1.330 sends a request again as a stream if its answer is cut in a text, and else not as a stream. Others
// read why the answer ended. Qwen Code 0.24.4 asks again after a cut, and takes an error for the last word.
func TestBrokenAnswer_ConnectionIsCut(t *testing.T) {
	for _, tt := range []struct {
		path, agent, body string
		told              bool // by an error event
		end               error
	}{
		{messages, claudeCode, bodyOf(messages), false, io.ErrUnexpectedEOF},
		{vertexClaude + ":streamRawPredict", claudeCode, claudeOnVertex, false, io.ErrUnexpectedEOF},
		{messages, opencode, bodyOf(messages), true, nil},
		{messages, "Anthropic/JS 1.12.0", bodyOf(messages), true, nil},
		{messages, vercel, instructed(messages, inCline, 70_000), true, nil},
		{chat, cline, instructed(chat, inCline, 0), true, io.ErrUnexpectedEOF},
		{chat, cline, bodyOf(chat), true, io.ErrUnexpectedEOF},
		{chat, qwenCode, bodyOf(chat), false, io.ErrUnexpectedEOF},
	} {
		for _, complete := range []gateway.CompleteMode{gateway.CompleteLossless, gateway.CompleteOff} { // the body is released sooner or later
			synctest.Test(t, func(t *testing.T) {
				provider := simulator.New(simulator.Script{Replies: replies(t, "cut:3")})
				defer provider.Close()
				upstreams := everything(address("provider.test"))
				for i := range upstreams {
					upstreams[i].Complete = complete
				}
				w := newHarnessWith(t, gateway.Config{Upstreams: upstreams, Policy: policy.Patient(), Base: provider.Transport()})
				_, text, err := w.get(tt.path, tt.body, "User-Agent", tt.agent)
				if told := strings.Contains(text, `"error":`); !strings.Contains(text, "provider") || told != tt.told || !errors.Is(err, tt.end) {
					t.Errorf("%s, %s, %s: got %q, error %v, want some text, an error event: %v, and %v", tt.path, tt.agent, complete, text, err, tt.told, tt.end)
				}
			})
		}
	}
}

// Claude Code 2.1.330 takes any 400 but that of an account for a feature that the provider does not know. It
// leaves out one after the other: first betas from the header, then fields of the request.
func TestGiveUp_ClaudeCodeLeavesOutNoFeatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), simulator.Script{Then: simulator.Status{Code: 503}})
		betas, asked := []string{"context-management-2025-06-27", "thinking-token-count-2026-05-13", "advanced-tool-use-2025-11-20"}, 0
		for range 7 {
			resp, text, _ := w.get(messages, claude, "User-Agent", claudeCode, "X-Claude-Code-Session-Id", "s", "Anthropic-Beta", strings.Join(betas, ","))
			asked++
			if resp.StatusCode == 400 && strings.Contains(text, `"type":"billing_error"`) {
				break
			}
			if resp.StatusCode == 400 && len(betas) > 0 {
				betas = betas[1:]
			}
		}
		if tries := len(w.provider.Requests()); asked != 2 || tries != 4 {
			t.Errorf("it sent %d requests, %d reached the provider; want 2 and 4: the stream's error, then the refusal", asked, tries)
		}
	})
}

// Some agents send a request again if certain words are in an error, whatever its status. Two of them are known by
// how their instructions begin, wherever in the body these are.
func TestGiveUp_NoWordHasAgentsAskAgain(t *testing.T) {
	for _, tt := range []struct{ path, agent, body string }{
		{messages, opencode, bodyOf(messages)},
		{chat, opencode, bodyOf(chat)},
		{responses, opencode, bodyOf(responses)},
		{chat, kilo, bodyOf(chat)},
		{messages, pi, bodyOf(messages)},
		{chat, pi, bodyOf(chat)},
		{responses, pi, bodyOf(responses)},
		{messages, pi1, bodyOf(messages)},
		{chat, pi1, bodyOf(chat)},
		{responses, "pi", bodyOf(responses)},
		{chat, plainSDK, instructed(chat, inContinue, 0)},
		{messages, "node-fetch", instructed(messages, inContinue, 70_000)},
		{chat, plainSDK, instructed(chat, inPi, 64<<10-90)},
		{chat, plainSDK, instructed(chat, inPi, 64<<10-130)},
		{chat, plainSDK, instructed(chat, inPi1, 64<<10-130)},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Simple(), simulator.Script{Then: simulator.Status{Code: 503}})
			for _, when := range []string{"first", "again"} {
				_, text, err := w.get(tt.path, tt.body, "User-Agent", tt.agent)
				if i := strings.Index(text, `"error"`); i > 0 {
					text = text[i:] // behind the keepalives
				}
				for _, word := range []string{"503", "overloaded", "server_error", "try again later", "Internal server error"} {
					if strings.Contains(text, word) {
						t.Errorf("%s, %s, %s: %q is in %q", tt.path, tt.agent, when, word, text)
					}
				}
				if plain := strings.ReplaceAll(text, "\u2060", ""); err != nil || !strings.Contains(plain, "HTTP 503: ") || !strings.Contains(plain, "error") {
					t.Errorf("%s, %s, %s: got %q, error %v, want the provider's words and a clean end", tt.path, tt.agent, when, text, err)
				}
			}
		})
	}
}

// Words of an agent's instructions that a message quotes do not make the client that agent.
func TestGiveUp_QuotedInstructionsAreNoSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), simulator.Script{Then: simulator.Status{Code: 503}})
		body := instructed(chat, `the body is {\"content\":\"`+inPi+`\"}`, 0)
		if _, text, _ := w.get(chat, body, "User-Agent", plainSDK); !strings.Contains(text, `"type":"server_error"`) {
			t.Errorf("got %q, want what any other client gets", text)
		}
	})
}

func TestFinal_SpentAccountEndsTheClientsOwnLoop(t *testing.T) {
	for _, tt := range []struct {
		agent, path string
		status      int
	}{
		{opencode, chat, 402},
		{opencode, responses, 402},
		{cline, chat, 402},
		{vercel7, chat, 402},
		{vercel7, responses, 402},
		{whole7, chat, 402},
		{qwenCode, chat, 402},
		{codexExec, responses, 429},
		{geminiCLI, google, 429},
		{pi, chat, 402},
		{pi1, chat, 402},
		{inContinue, chat, 402},
		{plainSDK, chat, 429},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Simple(), simulator.Script{Replies: replies(t, "quota")})
			body := bodyOf(tt.path)
			if tt.agent == inContinue {
				body = instructed(tt.path, inContinue, 0)
			}
			resp, text, _ := w.get(tt.path, body, "User-Agent", tt.agent)
			if resp.StatusCode != tt.status || resp.Header.Get("X-Should-Retry") != "false" || !strings.Contains(text, "quota") {
				t.Errorf("%s: got %d %v %q, want %d with the provider's words", tt.agent, resp.StatusCode, resp.Header, text, tt.status)
			}
			if n := len(w.provider.Requests()); n != 1 {
				t.Errorf("%s: %d requests reached the provider, want 1", tt.agent, n)
			}
		})
	}
}

func TestFinal_ErrorOfTheRequestKeepsItsStatus(t *testing.T) {
	for _, agent := range []string{claudeCode, codexExec, geminiCLI, qwenCode, cline, plainSDK} {
		synctest.Test(t, func(t *testing.T) {
			const body = `{"error":{"message":"no such model","type":"invalid_request_error"}}`
			w := newHarnessOf(t, policy.Simple(), roundTrip(says(404, body)))
			resp, text, _ := w.get(chat, gpt, "User-Agent", agent)
			if resp.StatusCode != 404 || text != body {
				t.Errorf("%s: got %d %q, want the provider's 404", agent, resp.StatusCode, text)
			}
		})
	}
}

// Gemini CLI and cline on Anthropic's API ask again after a stream that ends, and lose their turn if the chunked
// coding breaks off. So a gateway that is killed while it holds a request must leave a stream that has ended.
func TestKeepalive_KilledGatewayLeavesAnEndedStream(t *testing.T) {
	for _, tt := range []struct {
		agent, path, body string
		end               error
	}{
		{geminiCLI, google, bodyOf(google), nil},
		{plainSDK, google, bodyOf(google), io.ErrUnexpectedEOF}, // takes an end for the whole answer
		{geminiCLI, messages, bodyOf(messages), io.ErrUnexpectedEOF},
		{vercel, messages, instructed(messages, inCline, 0), nil},
		{vercel, messages, bodyOf(messages), io.ErrUnexpectedEOF}, // likewise, in the SDK's older versions
		{cline, chat, instructed(chat, inCline, 0), io.ErrUnexpectedEOF},
	} {
		synctest.Test(t, func(t *testing.T) {
			pipe := simulator.NewPipe()
			provider := simulator.New(outage(time.Hour))
			server := &http.Server{Handler: newGateway(t, gateway.Config{
				Upstreams: everything(address("provider.test")), Policy: policy.Patient(), Base: provider.Transport(),
			})}
			done := make(chan struct{})
			go func() { _ = server.Serve(pipe); close(done) }()
			client := &http.Client{Transport: &http.Transport{DialContext: pipe.DialContext}}
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway"+tt.path, strings.NewReader(tt.body))
			req.Header.Set("User-Agent", tt.agent)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", tt.agent, err)
			}
			defer resp.Body.Close()
			time.AfterFunc(time.Minute, func() { _ = server.Close() }) // as the kernel does for a process that is killed
			text, err := io.ReadAll(resp.Body)
			if !errors.Is(err, tt.end) || len(text) == 0 {
				t.Errorf("%s at %s: the held stream is %q and ends with %v, want keepalives and %v", tt.agent, tt.path, text, err, tt.end)
			}
			<-done
			client.CloseIdleConnections()
			_ = provider.Close()
			time.Sleep(time.Second) // net/http lingers half of that
		})
	}
}

func TestClose_StreamEndsAsTheClientAsksAgain(t *testing.T) {
	for _, tt := range []struct {
		agent, path string
		last        string // the stream ends with it; "": with a keepalive
		cut         bool
	}{
		{geminiCLI, google, `"status":"UNAVAILABLE"}}`, false},
		{pi, google, `"status":"UNAVAILABLE"}}`, true},
		{pi1, google, `"status":"UNAVAILABLE"}}`, true},
		{pi, chat, "}\n\n", true},
		{qwenCode, chat, "", true},
		{plainSDK, chat, "}\n\n", true},
		{codexExec, responses, "}\n\n", false},
		{claudeCode, messages, "}\n\n", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Then: simulator.Status{Code: 503}})
			time.AfterFunc(time.Minute, w.gateway.Close)
			_, text, err := w.get(tt.path, bodyOf(tt.path), "User-Agent", tt.agent)
			if told := strings.Contains(text, "service unavailable, connection reset: the gateway is shutting down"); told != (tt.last != "") || !strings.HasSuffix(text, tt.last) || (err != nil) != tt.cut {
				t.Errorf("%s: got %q, error %v, want the end %q, cut: %v", tt.agent, text, err, tt.last, tt.cut)
			}
		})
	}
}

func TestGiveUp_SocketOfCodexGetsAFinalStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Simple(), simulator.Script{Then: simulator.Status{Code: 503}})
		conn, _, err := w.dialCodex("/v1/responses")
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer conn.CloseNow()
		_ = conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"gpt-5","input":"Hi"}`))
		frame := ""
		for !strings.Contains(frame, `"error"`) {
			_, b, err := conn.Read(t.Context())
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			frame = string(b)
		}
		if !strings.Contains(frame, `"status":400`) || !strings.Contains(frame, "gave up after 3 retries") {
			t.Errorf("frame %s, want status 400 with the words", frame)
		}
	})
}

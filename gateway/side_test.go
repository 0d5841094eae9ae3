package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// What agents ask beside their turn, as recorded.
const (
	flashLite = "/v1beta/models/gemini-3.5-flash-lite:generateContent"
	rating    = `{"contents":[{"parts":[{"text":"Say hi"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"\nYou are a specialized Task Routing AI."}],` +
		`"role":"user"},"generationConfig":{"temperature":1,"responseMimeType":"application/json","responseJsonSchema":{"type":"OBJECT"}}}`
	memory = `{"model":"gpt-5","messages":[{"role":"system","content":"You are now acting as the managed memory extraction subagent for an AI coding ` +
		`assistant."},{"role":"user","content":"Hi"}],"stream":true}`
)

// quoted returns a request whose prompt quotes a text.
func quoted(text string) string {
	return strings.Replace(gpt, `"Hi"`, `"`+strings.ReplaceAll(text, `"`, `\"`)+`"`, 1)
}

func TestSideRequest_IsHeldNoLongerThanTheAgentTries(t *testing.T) {
	for _, tt := range []struct {
		name, path, body, agent string
		most                    time.Duration // of waiting; 0: as long as the policy allows
	}{
		{"Gemini CLI's rating of the prompt", flashLite, rating, geminiCLI, time.Minute},
		{"Gemini CLI's prompt", google, bodyOf(google), geminiCLI, 0},
		{"another client's JSON", flashLite, rating, plainSDK, 0},
		{"Qwen Code's memory", chat, memory, qwenCode, 8 * time.Minute},
		{"Qwen Code's prompt", chat, gpt, qwenCode, 0},
		{"a prompt of Qwen Code with a memory request in it", chat, quoted(memory), qwenCode, 0},
		{"another client's memory", chat, memory, plainSDK, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newHarness(t, policy.Patient(), simulator.Script{Then: simulator.Status{Code: 503}})
			w.leaveAfter(time.Hour, tt.path, tt.body, "User-Agent", tt.agent)
			took := time.Since(w.begun)
			if tt.most == 0 && took < time.Hour || tt.most > 0 && (took < tt.most*4/5 || took > tt.most+5*time.Second) {
				t.Errorf("%s: ended after %v, want at most %v, and not much less (0s: as long as the client stays)", tt.name, took, tt.most)
			}
		})
	}
}

// Without the gateway it would be answered: Gemini CLI's fifth try comes after 57 s.
func TestSideRequest_IsAnsweredInThatTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(50*time.Second))
		_, text, err := w.get(flashLite, rating, "User-Agent", geminiCLI)
		if took := time.Since(w.begun); err != nil || !strings.Contains(text, "candidates") || took > time.Minute {
			t.Errorf("after an outage of 50 s: %q, error %v after %v; want an answer within a minute", text, err, took)
		}
	})
}

func TestSideRequest_SaysWhyItIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Then: simulator.Status{Code: 503}})
		_, text, _ := w.get(chat, memory, "User-Agent", qwenCode)
		if want := "(memory: the agent goes on without an answer after "; !strings.Contains(text, want) {
			t.Errorf("the answer is %q, want %q", text, want)
		}
		if side := w.all[len(w.all)-1].Call.Side; side != "memory" {
			t.Errorf("the event's Side is %q, want memory", side)
		}
	})
}

func TestSideRequest_ClientsOwnLimitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Then: simulator.Status{Code: 503}})
		w.get(chat, memory, "User-Agent", qwenCode, "X-Ridethrough-Max-Wait", "20m")
		if took := time.Since(w.begun); took < 10*time.Minute {
			t.Errorf("given up after %v, want the twenty minutes that the client allows", took)
		}
	})
}

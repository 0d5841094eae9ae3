package gateway_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

const claudeCode = "claude-cli/2.1.329 (external, cli)"

// outage is a provider that is overloaded so long.
func outage(d time.Duration) simulator.Script {
	return simulator.Script{Outages: []simulator.Outage{{To: d}}}
}

func TestHeldStreamIsNeverSilentForLong(t *testing.T) {
	tests := []struct {
		path, body, agent string
		events            bool // this client needs events, not only bytes
	}{
		{"/v1/messages", claude, claudeCode, true},
		{"/v1/messages", claude, "ai-sdk/anthropic", false},
		{"/v1/chat/completions", gpt, "OpenAI/JS", true},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, policy.Patient(), outage(7*time.Hour+10*time.Minute))
			resp, err := w.ask(t.Context(), tt.path, tt.body, "User-Agent", tt.agent)
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
			defer resp.Body.Close()
			if took := time.Since(w.begun); took > 10*time.Second {
				t.Errorf("%s: the headers came after %v", tt.path, took)
			}
			lastByte, lastEvent, held := w.begun, w.begun, 0
			var silence, eventless time.Duration
			err = frames(resp, func(frame string) {
				now := time.Now()
				silence = max(silence, now.Sub(lastByte))
				lastByte = now
				if !strings.HasPrefix(frame, ":") && !strings.HasPrefix(frame, "event: ping") {
					eventless = max(eventless, now.Sub(lastEvent))
					lastEvent = now
				}
				held++
			})
			if err != io.EOF || silence > 15*time.Second || (tt.events && eventless > time.Minute) {
				t.Errorf("%s for %s: %v between bytes, %v between events, %v", tt.path, tt.agent, silence, eventless, err)
			}
			if held < 2500 || time.Since(w.begun) < 7*time.Hour {
				t.Errorf("%s: %d frames in %v", tt.path, held, time.Since(w.begun))
			}
		})
	}
}

func TestNothingIsCommittedBeforeAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := simulator.Script{Replies: []simulator.Reply{simulator.Silence{For: 20 * time.Minute}}}
		w := newWorld(t, policy.Patient(), slow)
		resp, text, err := w.get("/v1/messages", claude)
		if err != nil || strings.Contains(text, "ping\"}\n\nevent: ping") || time.Since(w.begun) != 20*time.Minute {
			t.Errorf("%d %q, %v", resp.StatusCode, text, err)
		}
	})
}

func TestHoldCommitsTenSecondsAfterTheRequestOrAtTheSecondFault(t *testing.T) {
	tests := []struct {
		replies string
		commits time.Duration
	}{
		{"529;retry-after=60", 10 * time.Second},
		{"529;retry-after=3, 529;retry-after=60", 5 * time.Second}, // Patient's first wait is 5 s
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, policy.Patient(), simulator.Script{Replies: replies(t, tt.replies)})
			resp, err := w.ask(t.Context(), "/v1/messages", claude)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(w.begun); took != tt.commits || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
				t.Errorf("%s: committed after %v, %v", tt.replies, took, resp.Header)
			}
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
		})
	}
}

func TestShortFaultKeepsTheTrueHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), simulator.Script{Replies: replies(t, "529, 400")})
		resp, _, _ := w.get("/v1/messages", claude)
		if resp.StatusCode != 400 || resp.Header.Get("Request-Id") == "" || resp.Header.Get("X-Ridethrough-Retries") != "1" {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
	})
}

func TestUpstreamsFirstEventFollowsTheLastPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(time.Hour))
		_, text, err := w.get("/v1/messages", claude, "User-Agent", claudeCode)
		if err != nil {
			t.Fatal(err)
		}
		held, answer, ok := strings.Cut(text, "event: message_start")
		if !ok || strings.Contains(answer, "keepalive") || strings.Count(text, "event: message_start") != 1 {
			t.Errorf("the answer is %q", answer)
		}
		for frame := range strings.SplitSeq(strings.TrimSuffix(held, "\n\n"), "\n\n") {
			if !strings.HasPrefix(frame, "event: ping\n") && !strings.Contains(frame, `{"type":"keepalive"}`) {
				t.Fatalf("held with %q", frame)
			}
		}
	})
}

func TestCommentsTellTheStateOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(2*time.Minute))
		_, text, _ := w.get("/v1/chat/completions", gpt)
		for _, want := range []string{": ridethrough retry 2 in 10s overloaded\n\n", ": ridethrough retry 4 in 50s overloaded\n\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %q", want, text[:min(len(text), 2000)])
			}
		}
	})
}

func TestExhaustedHoldEndsInTheDialectsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), outage(48*time.Hour))
		_, text, err := w.get("/v1/messages", claude)
		const want = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"," +
			"\"message\":\"ridethrough: gave up after 21 retries in 7h31m45s: HTTP 529: Overloaded\"}}\n\n"
		if err != nil || !strings.HasSuffix(text, want) {
			t.Errorf("ends in %q, %v", text[max(0, len(text)-300):], err)
		}
		if n := len(w.provider.Requests()); n != 22 {
			t.Errorf("%d requests", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Simple(), outage(time.Hour))
		_, text, err := w.get("/v1/chat/completions", gpt)
		if err == nil || strings.Contains(text, "[DONE]") || !strings.Contains(text, "gave up after 3 retries in 7s") {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestExhaustionBeforeTheCommitKeepsTheProvidersAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Simple(), outage(time.Hour))
		resp, text, err := w.get("/v1/messages", whole(claude))
		if err != nil || resp.StatusCode != 529 || resp.Header.Get("X-Should-Retry") != "false" || !strings.Contains(text, "overloaded_error") {
			t.Errorf("%d %v %q, %v", resp.StatusCode, resp.Header, text, err)
		}
	})
}

func TestFinalFaultAfterTheCommitKeepsItsMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policy.Patient(), simulator.Script{Replies: replies(t, "529, 529, 401")})
		_, text, err := w.get("/v1/messages", claude)
		if err != nil || !strings.Contains(text, `"type":"authentication_error"`) {
			t.Errorf("%q, %v", text, err)
		}
	})
}

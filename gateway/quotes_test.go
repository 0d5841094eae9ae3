package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// secretPrompt is what an upstream quotes in its errors.
const secretPrompt = `the launch code of the "rocket" is 4711-ABC`

// secretRequest is a request with it.
func secretRequest() string {
	quoted, _ := json.Marshal(secretPrompt)
	return strings.Replace(claude, `"Hi"`, string(quoted), 1)
}

// zipped returns a text in gzip.
func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// quoting returns a provider's answer that quotes the prompt.
func quoting(status int, before string) roundTrip {
	message, _ := json.Marshal("Internal failure at: " + secretRequest())
	text := `{"type":"error","error":{"type":"api_error","message":` + string(message) + `}}`
	if before != "" || status == 200 {
		return says(status, before+"event: error\ndata: "+text+"\n\n")
	}
	return says(status, text, "Content-Type", "application/json")
}

func TestQuotedPrompt_NotInEventsOrWaits(t *testing.T) {
	for name, provider := range map[string]roundTrip{
		"a refusal":                   quoting(400, ""),
		"an outage":                   quoting(500, ""),
		"an error in a 200":           quoting(200, messageStart),
		"an error behind content":     quoting(200, messageStart+messageHi),
		"an error that is no JSON":    says(500, "Traceback: cannot parse "+secretPrompt, "Content-Type", "text/plain"),
		"an error whose type quotes":  says(400, `{"error":{"type":"the launch code of the rocket","message":"no"}}`, "Content-Type", "application/json"),
		"an error that quotes a part": says(503, `{"error":{"message":"refused: \"Rocket\" is 4711-abc"}}`, "Content-Type", "application/json"),
	} {
		for encoding, body := range map[string]string{"": secretRequest(), "gzip": zipped(secretRequest()), "x-unknown": secretRequest()} {
			bubble(t, name+", "+encoding, func(t *testing.T) {
				w := newHarnessOf(t, policy.Interactive(), provider.reading())
				headers := []string{"Content-Encoding", encoding}
				if encoding == "" {
					headers = nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var text []byte
				done := make(chan struct{})
				go func() {
					defer close(done)
					if resp, err := w.ask(ctx, "/v1/messages", body, headers...); err == nil {
						text, _ = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
				}()
				time.Sleep(30 * time.Second)
				waits := fmt.Sprintf("%+v", w.gateway.Waits())
				time.Sleep(time.Hour)
				<-done
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, all := range []string{waits, fmt.Sprintf("%+v", w.all)} {
					if lower := strings.ToLower(all); strings.Contains(lower, "4711-abc") || strings.Contains(lower, "launch") {
						t.Errorf("the prompt is in %s", all[:min(len(all), 1000)])
					}
				}
				if len(w.events) == 0 || !strings.Contains(string(text), "4711") && encoding == "" && !strings.Contains(string(text), "rror") {
					t.Errorf("%d events, the client sees %s; want the error", len(w.events), text)
				}
			})
		}
	}
}

// A caller that shares the failure of another's probe gets no words of the other's prompt.
func TestQuotedPrompt_NotInTheEventsOfOthers(t *testing.T) {
	bubble(t, "shared", func(t *testing.T) {
		w := newHarnessWith(t, gateway.Config{Policy: policy.Patient(), Upstreams: everything(address("provider.test")), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			text, _ := io.ReadAll(req.Body)
			_ = req.Body.Close()
			message, _ := json.Marshal("Internal failure at: " + string(text))
			return says(500, `{"error":{"message":`+string(message)+`}}`, "Content-Type", "application/json")(req)
		})})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		for range 20 {
			go func() {
				if resp, err := w.ask(ctx, "/v1/messages", whole(secretRequest())); err == nil {
					_ = resp.Body.Close()
				}
			}()
			time.Sleep(time.Second)
		}
		<-ctx.Done()
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		shared := 0
		for _, e := range w.all {
			if e.Try.Shared {
				shared++
			}
			if strings.Contains(fmt.Sprintf("%+v", e), "4711-") {
				t.Fatalf("the prompt is in the event %+v", e)
			}
		}
		if shared == 0 {
			t.Errorf("%d events, none of a shared failure", len(w.all))
		}
	})
}

// The key of a client is its own, and not for those who read the log and the page.
func TestClientsKey_NotInEvents(t *testing.T) {
	const key = "plain-word-of-a-team-4711"
	message := `{"error":{"message":"refused: ` + key + ` and ` + strings.ReplaceAll(key, "-", `\\u002d`) + ` are unknown"}}`
	for name, headers := range map[string][]string{
		"X-Api-Key":     {"X-Api-Key", key},
		"Authorization": {"Authorization", "Bearer " + key},
		"Cookie":        {"Cookie", key},
		"X-Corp-Auth":   {"X-Corp-Auth", key}, // of a proxy on the way
		"Sec-WebSocket": {"Sec-WebSocket-Protocol", key},
		"a query":       nil,
	} {
		bubble(t, name, func(t *testing.T) {
			path := "/v1/messages"
			if headers == nil {
				path = "/v1beta/models/m:generateContent?key=" + key
			}
			w := newHarnessOf(t, policy.Interactive(), says(401, message, "Content-Type", "application/json").reading())
			_, text, _ := w.get(path, claude, headers...)
			if !strings.Contains(text, key) {
				t.Errorf("the client sees %s, want the error as it came", text)
			}
			if all := fmt.Sprintf("%+v", w.all); strings.Contains(all, "4711") || !strings.Contains(all, "refused: ***") {
				t.Errorf("events %s, want asterisks in place of the key", all)
			}
		})
	}
}

// Behind the first content only kind and code of a fault are shown, neither with a value of the request's headers.
func TestClientsKey_NotInTheCodeOfALateError(t *testing.T) {
	const key = "plain-word-of-a-team-4711"
	bubble(t, "", func(t *testing.T) {
		w := newHarnessOf(t, policy.Interactive(), says(200, messageStart+messageHi+
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"code\":\"refused_"+key+"\",\"message\":\"refused\"}}\n\n").reading())
		_, _, _ = w.get("/v1/messages", claude, "X-Corp-Auth", key)
		synctest.Wait()
		if all := fmt.Sprintf("%+v", w.all); strings.Contains(all, "4711") || !strings.Contains(all, "refused_***") {
			t.Errorf("events %s, want asterisks in place of the key", all)
		}
	})
}

// Errors about what a program says of itself stay readable.
func TestPublicHeader_StaysInEvents(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w := newHarnessOf(t, policy.Interactive(), says(400, `{"error":{"message":"unexpected value: interleaved-thinking-2025-05-14"}}`, "Content-Type", "application/json").reading())
		_, _, _ = w.get("/v1/messages", claude, "Anthropic-Beta", "interleaved-thinking-2025-05-14")
		if all := fmt.Sprintf("%+v", w.all); !strings.Contains(all, "interleaved-thinking-2025-05-14") {
			t.Errorf("events %s, want the value of Anthropic-Beta", all)
		}
	})
}

func TestRetryEvent_MessageIsWhatTheProviderSent(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		w := newHarness(t, policy.Patient(), simulator.Script{Replies: replies(t, "529")})
		_, _, _ = w.get("/v1/messages", claude)
		text, err := turn.Marshal(w.events[0])
		var got struct{ Type, Message, Summary string }
		if err := errors.Join(err, json.Unmarshal(text, &got)); err != nil {
			t.Fatalf("event %+v: %v", w.events[0], err)
		}
		if !strings.HasPrefix(got.Message, `HTTP 529: {"type":"error","error":{`) || got.Summary != "HTTP 529: Overloaded" {
			t.Errorf("message %q, summary %q; want the provider's body behind its status, and the sentence in it", got.Message, got.Summary)
		}
	})
}

package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
)

// An answer of Gemini's Interactions, as documented.
const (
	interactionCreated = "event: interaction.created\n" +
		`data: {"interaction":{"id":"v1_a","status":"in_progress","object":"interaction","model":"gemini-3"},"event_type":"interaction.created"}` + "\n\n"
	interaction = interactionCreated +
		"event: step.start\n" + `data: {"index":0,"step":{"type":"model_output"},"event_type":"step.start"}` + "\n\n" +
		"event: step.delta\n" + `data: {"index":0,"delta":{"type":"text","text":"Hi"},"event_type":"step.delta"}` + "\n\n" +
		"event: interaction.completed\n" + `data: {"interaction":{"id":"v1_a","status":"completed"},"event_type":"interaction.completed"}` + "\n\n" +
		"event: done\ndata: [DONE]\n\n"
	interactionRefused = interactionCreated + `{"error":{"message":"The request was blocked.","code":"prohibited_content"}}` + "\n"
	interactionFails   = "event: error\n" + `data: {"error":{"message":"The service is overloaded.","code":"service_unavailable"},"event_type":"error"}` + "\n\n"
)

// TestInteractions_AreHeld is about what an interaction goes through while it is waited for.
func TestInteractions_AreHeld(t *testing.T) {
	agent := strings.Replace(interactionCreated, `"model":"gemini-3"`, `"agent":"deep-research"`, 1)
	busy := says(503, `{"error":{"message":"The service is overloaded.","code":"service_unavailable"}}`, "Content-Type", "application/json")
	const streamed, whole = `{"model":"gemini-3","input":"Hi","stream":true}`, `{"model":"gemini-3","input":"Hi"}`
	const body = `{"id":"v1_a","status":"completed","steps":[{"type":"model_output"}]}`
	for _, tt := range []struct {
		name, body string
		first      roundTrip // for a minute
		then       roundTrip
		tries      int // 0: more than one
		want       string
		held       bool
		cut        bool
	}{
		{"503", streamed, busy, streams(interaction), 0, interaction, true, false},
		{"503, whole", whole, busy, says(200, body, "Content-Type", "application/json"), 0, body, true, false},
		{"an error before content", streamed, streams(interactionCreated + interactionFails), streams(interaction), 0, interaction, true, false},
		{"a stream that ends before content", streamed, streams(interactionCreated), streams(interaction), 0, interaction, true, false},
		{"a failed interaction", whole, says(200, `{"id":"v1_a","status":"failed","errors":[{"code":"service_unavailable"}]}`, "Content-Type", "application/json"), says(200, body, "Content-Type", "application/json"), 0, body, true, false},
		{"a refusal", streamed, streams(interactionRefused), streams(interaction), 1, interactionRefused, false, false},
		{"an agent that works on", streamed, streams(agent + interactionFails), streams(interaction), 1, agent + interactionFails, false, true},
		{"in the background", streamed, says(200, `{"id":"v1_a","status":"in_progress"}`, "Content-Type", "application/json"), nil, 1, `{"id":"v1_a","status":"in_progress"}`, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries, begun := 0, time.Now()
			w := newHarnessWith(t, gateway.Config{Upstreams: gateway.Defaults(), Policy: policy.Patient(), Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				tries++
				if time.Since(begun) < time.Minute {
					return tt.first(req)
				}
				return tt.then(req)
			})})
			resp, text, err := w.get("/v1beta/interactions", tt.body)
			if (err != nil) != tt.cut || resp.StatusCode != 200 || !strings.HasSuffix(text, tt.want) || (tt.tries == 1) != (tries == 1) {
				t.Errorf("%s: status %d, %q and error %v after %d tries, want 200 with %q, and a cut: %t", tt.name, resp.StatusCode, text, err, tries, tt.want, tt.cut)
			}
			if alive := strings.HasPrefix(text, ": ridethrough ") || text != tt.want && strings.HasPrefix(text, " "); alive != tt.held {
				t.Errorf("%s: kept alive %t, want %t: %q", tt.name, alive, tt.held, text)
			}
		})
	}
}

func TestInteractions_TerminatorAloneIsNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		head, end, _ := strings.Cut(interaction, "event: interaction.completed")
		_, done, _ := strings.Cut(end, "\n\n")
		w := newHarnessWith(t, gateway.Config{Upstreams: gateway.Defaults(), Policy: policy.Patient(), Base: streams(head + done)})
		_, text, err := w.get("/v1beta/interactions", `{"model":"gemini-3","input":"Hi","stream":true}`)
		if err == nil || !strings.HasPrefix(text, head+"event: error\n") {
			t.Errorf("%q and error %v, want the text, an error event and a cut connection", text, err)
		}
	})
}

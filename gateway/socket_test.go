package gateway_test

import (
	"context"
	"encoding/json"
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

// overloadFrame is the failure that Codex does not survive: a 200 whose stream says that the model is full.
const overloadFrame = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"service_unavailable_error\",\"code\":\"server_is_overloaded\",\"message\":\"at capacity\"}}\n\n"

// dialCodex opens a WebSocket as Codex does.
func (w *harness) dialCodex(path string) (*websocket.Conn, *http.Response, error) {
	return websocket.Dial(w.t.Context(), "ws://gateway.test"+path, &websocket.DialOptions{
		HTTPClient: w.Client,
		HTTPHeader: http.Header{"Originator": {"codex_cli_rs"}, "Openai-Beta": {"responses_websockets=2026-02-06"}, "Session-Id": {"s1"}},
	})
}

func TestGateway_SocketRidesOutTwoHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := simulator.Status{Code: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n" + overloadFrame}
		w := newHarness(t, policy.Patient(), simulator.Script{Outages: []simulator.Outage{{To: 2 * time.Hour, Reply: full}}})
		conn, _, err := w.dialCodex("/v1/responses")
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer conn.CloseNow()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"gpt-5","store":false,"input":"Hi"}`)); err != nil {
			t.Fatalf("write: %v", err)
		}
		var text strings.Builder
		var silence time.Duration // between frames: Codex's timer does not count pings
		for last := time.Now(); ; {
			_, frame, err := conn.Read(t.Context())
			if err != nil {
				t.Fatalf("read: %v after %v, want the answer", err, time.Since(w.begun))
			}
			silence, last = max(silence, time.Since(last)), time.Now()
			var e struct{ Type, Delta string }
			if err := json.Unmarshal(frame, &e); err != nil || strings.Contains(string(frame), "overloaded") {
				t.Fatalf("frame %s, %v; want none about the overload", frame, err)
			}
			text.WriteString(e.Delta)
			if e.Type == "response.completed" {
				break
			}
		}
		if took := time.Since(w.begun); took < 2*time.Hour || took > 2*time.Hour+31*time.Minute || !strings.Contains(text.String(), "well again") {
			t.Errorf("answered %q after %v, want the provider's answer after two hours", text.String(), took)
		}
		if silence > 75*time.Second {
			t.Errorf("%v without a frame, want at most 75 s", silence)
		}
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := len(w.events); n == 0 || w.all[0].Call.Session != "s1" {
			t.Errorf("%d events, the first %+v; want those of any request", n, w.all[0])
		}
	})
}

func TestGateway_NoSocketRefusesWebSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstreams := everything(address("provider.test"))
		for i := range upstreams {
			upstreams[i].NoSocket = true
		}
		asked := 0
		w := newHarnessWith(t, gateway.Config{Upstreams: upstreams, Base: roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return nil, context.Canceled
		})})
		_, resp, err := w.dialCodex("/v1/responses")
		if err == nil || resp == nil || resp.StatusCode != http.StatusUpgradeRequired || asked != 0 {
			t.Errorf("response %v, error %v, %d requests at the upstream; want 426 and none", resp, err, asked)
		}
	})
}

func TestGateway_CloseEndsSocketsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, policy.Patient(), outage(time.Hour))
		conn, _, err := w.dialCodex("/v1/responses")
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		defer conn.CloseNow()
		_ = conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"gpt-5","input":"Hi"}`))
		time.Sleep(3 * time.Second)
		w.gateway.Drain()
		_, frame, err := conn.Read(t.Context())
		if err != nil || !strings.Contains(string(frame), `"status":503`) || !strings.Contains(string(frame), "shutting down") {
			t.Errorf("frame %s, error %v; want an error with 503 that says why", frame, err)
		}
		if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
			t.Errorf("read: %v, want the close code 1012", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := w.gateway.WaitSockets(ctx); err != nil {
			t.Errorf("WaitSockets: %v, want all sockets closed", err)
		}
	})
}

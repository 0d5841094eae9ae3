package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/internal/operation/config"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
)

const (
	firstHalf  = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
	secondHalf = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// post sends the request of the test.
func post(ctx context.Context, url, key string) (*http.Response, error) {
	body := `{"model":"claude-x","max_tokens":64,"messages":[{"role":"user","content":"Hi"}],"stream":true}`
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", key)
	return http.DefaultClient.Do(req)
}

// A gateway is killed after it has read an answer whose client has left. The client finds it at another one.
func TestServe_AnswerOutlivesTheGatewayThatHasReadIt(t *testing.T) {
	port := natstest.Ports(t, 1)[0]
	o := natstest.Options(t.TempDir())
	o.Port = port
	natstest.Run(t, o)
	var asked atomic.Int64
	left := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, firstHalf)
		w.(http.Flusher).Flush()
		<-left
		_, _ = io.WriteString(w, secondHalf)
	}))
	defer provider.Close()
	config := write(t, t.TempDir(), "fleet.yaml", "upstreams: {anthropic: {url: '"+provider.URL+"'}}\ndetached: {agents: [all]}\n")
	other := start(t, "serve", "--config", config, "--listen", "127.0.0.1:0", "--nats", natstest.URL(port))
	url := other.waitForLog(t, "listening")["url"].(string)
	killed := exec.Command("ridethrough", "serve", "--config", config, "--listen", "127.0.0.1:0", "--nats", natstest.URL(port))
	killed.Env = append(os.Environ(), "HOME="+t.TempDir(), "RIDETHROUGH_DATA=")
	logs, err := killed.StderrPipe()
	if err != nil || killed.Start() != nil {
		t.Fatalf("start a gateway: %v", err)
	}
	log := process{lines: logLines(t, logs)}
	defer func() {
		_ = killed.Process.Kill()
		for range log.lines {
		}
		_ = killed.Wait()
	}()
	first := log.waitForLog(t, "listening")["url"].(string)
	for other.waitForLog(t, "fleet")["replicas"] != 2.0 {
	}
	told := fleetMessages(t, natstest.URL(port))
	ctx, leave := context.WithCancel(t.Context())
	resp, err := post(ctx, first, "sk-client")
	if err != nil {
		t.Fatalf("send request: %v", err)
	}
	_, _ = io.ReadFull(resp.Body, make([]byte, 100))
	leave()
	_ = resp.Body.Close()
	log.waitForLog(t, "client left, answer is read on")
	close(left)
	for m := range told { // until it is told that the answer is kept for all
		if bytes.Contains(m.Data, []byte(`"State":"kept"`)) {
			break
		}
	}
	waitUntilHeard(t, natstest.URL(port))
	_ = killed.Process.Kill()
	for _, tt := range []struct {
		key      string
		replayed bool
		asked    int64
	}{{"sk-another", false, 2}, {"sk-client", true, 2}, {"sk-client", false, 3}} {
		resp, err := post(t.Context(), url, tt.key)
		if err != nil {
			t.Fatalf("send request to the other gateway: %v", err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(text) != firstHalf+secondHalf || (resp.Header.Get("X-Ridethrough-Replayed") == "true") != tt.replayed || asked.Load() != tt.asked {
			t.Errorf("with key %s: %v %q, %v after %d requests upstream; want the whole answer, replayed: %v, after %d", tt.key, resp.Header, text, err, asked.Load(), tt.replayed, tt.asked)
		}
	}
}

const fleetSubject = "ridethrough." + config.DefaultFleet + "."

// fleetMessages returns what gateways tell one another.
func fleetMessages(t *testing.T, url string) <-chan store.Message {
	t.Helper()
	messages, err := dialFleet(t, url).Subscribe(t.Context(), fleetSubject+"all")
	if err != nil {
		t.Fatalf("subscribe to the fleet: %v", err)
	}
	return messages
}

// waitUntilHeard waits until both gateways have heard what was told before: each answers a command in its turn.
func waitUntilHeard(t *testing.T, url string) {
	t.Helper()
	s := dialFleet(t, url)
	answers, err := s.Subscribe(t.Context(), fleetSubject+"to.test")
	if err == nil {
		err = s.Publish(t.Context(), fleetSubject+"all", []byte(`{"from":"test","kind":"act","body":{"n":1,"id":1,"do":"retry"}}`))
	}
	if err != nil {
		t.Fatalf("ask the fleet: %v", err)
	}
	for range 2 {
		<-answers
	}
}

func dialFleet(t *testing.T, url string) store.Store {
	t.Helper()
	s, err := nats.Dial(t.Context(), nats.Remote{URL: url})
	if err != nil {
		t.Fatalf("dial the NATS server: %v", err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s
}

package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// get asks a server; headers are names and values.
func get(t *testing.T, url string, headers ...string) (status int, body string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("send request: %v", err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

func TestServe_OperatorEndpoints(t *testing.T) {
	gateway := start(t, "serve", "--listen", "127.0.0.1:0")
	base := gateway.waitForLog(t, "listening")["url"].(string)
	for path, says := range map[string]string{
		"/-/": `"name":"ridethrough"`, "/-/waits": `{"waits":[]}`, "/-/upstreams": `"name":"anthropic"`,
		"/-/livez": `"ok"`, "/-/readyz": `"ok"`, "/-/metrics": "ridethrough_build_info{",
	} {
		if status, body := get(t, base+path); status != 200 || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if code := gateway.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestServe_RequiresToken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, []string{"serve", "--listen", "0.0.0.0:0"}, command.Streams{
			Out: io.Discard, Err: w, Env: lookup([]string{"RIDETHROUGH_TOKEN=t0ken", "OTEL_TRACES_EXPORTER=zipkin"}),
		})
		_ = w.Close()
	}()
	logged := ""
	var line struct{ Msg, URL, Error string }
	for d := json.NewDecoder(r); line.Msg != "listening"; {
		if err := d.Decode(&line); err != nil {
			t.Fatalf("decode: %v", err)
		}
		logged += line.Msg + " " + line.Error + "\n"
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if !strings.Contains(logged, `spans are not exported OTEL_TRACES_EXPORTER: no exporter "zipkin"`) {
		t.Errorf("logged %q, want the error about zipkin", logged)
	}
	base := "http://127.0.0.1" + line.URL[strings.LastIndex(line.URL, ":"):]
	for _, c := range []struct {
		token  string
		status int
	}{{"", 401}, {"wrong", 401}, {"t0ken", 200}} {
		if status, body := get(t, base+"/-/waits", "X-Ridethrough-Token", c.token); status != c.status {
			t.Errorf("token %q: %d %s", c.token, status, body)
		}
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

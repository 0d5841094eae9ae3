package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/natstest"
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
			t.Errorf("%s: got %d %s, want 200 and %s", path, status, body, says)
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
			Out: io.Discard, Err: w, Env: lookup([]string{"RIDETHROUGH_TOKEN=t0ken-t0ken-t0ken", "OTEL_TRACES_EXPORTER=zipkin"}),
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
	}{{"", 401}, {"wrong", 401}, {"t0ken-t0ken-t0ken", 200}} {
		if status, body := get(t, base+"/-/waits", "X-Ridethrough-Token", c.token); status != c.status {
			t.Errorf("token %q: %d %s", c.token, status, body)
		}
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

// The pipe has no buffer and no reader.
func TestServe_UnreadLogDelaysNoRequest(t *testing.T) {
	t.Parallel()
	_, unread := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	provider := start(t, "simulator", "--listen", "127.0.0.1:0", "--then", "401")
	upstream := provider.waitForLog(t, "simulating a provider")["url"].(string)
	go func() {
		for range provider.lines { // the other lines
		}
	}()
	addr := freeAddr(t)
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, []string{"serve", "--listen", addr, "--upstream", "openai=" + upstream + "/v1"}, command.Streams{
			Out: io.Discard, Err: unread, Env: lookup(nil),
		})
	}()
	const logged = 3000 // more than fit into the queue of events, and a line for each
	for i := range logged {
		if got := postUntilUp(t, "http://"+addr+"/v1/chat/completions", `{"model":"m","messages":[]}`); got != 401 {
			t.Fatalf("status of request %d of %d with an unread log: got %d, want 401", i+1, logged, got)
		}
	}
	if status, body := get(t, "http://"+addr+"/-/livez"); status != 200 {
		t.Errorf("livez with an unread log: got %d %s, want 200", status, body)
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit code of serve with an unread log: got %d, want 0", got)
	}
}

// freeAddr returns an address on which nothing listens, nor will what lets the system choose its port.
func freeAddr(t *testing.T) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", natstest.Ports(t, 1)[0])
}

// postUntilUp posts a request and returns the status of its answer. The server may not listen yet.
func postUntilUp(t *testing.T, url, body string) (status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ; ; runtime.Gosched() {
		r, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
		resp, err := http.DefaultClient.Do(r)
		if errors.Is(err, syscall.ECONNREFUSED) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			t.Fatalf("post: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode
	}
}

// A log that takes nothing must not keep a command from ending.
func TestCLI_UnreadErrorEndsCommand(t *testing.T) {
	_, unread := io.Pipe()
	if got := cli.Run(t.Context(), []string{"ride"}, command.Streams{Out: io.Discard, Err: unread, Env: lookup(nil)}); got != 2 {
		t.Errorf("exit code: got %d, want 2", got)
	}
}

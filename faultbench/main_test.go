package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"

	main "github.com/ridethrough/ridethrough/faultbench"
	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// start starts ridethrough and returns its URL, which stands in the log's line with these words.
func start(t *testing.T, words string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	go func() {
		cli.Run(ctx, args, command.Streams{Out: io.Discard, Err: w, Env: func(string) string { return "" }})
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var line struct{ Msg, URL string }
		if err := json.Unmarshal(lines.Bytes(), &line); err == nil && line.URL != "" && strings.Contains(line.Msg, words) {
			rest := make(chan struct{})
			go func() { defer close(rest); _, _ = io.Copy(io.Discard, r) }()
			t.Cleanup(func() { cancel(); <-rest })
			return line.URL
		}
	}
	cancel()
	t.Fatalf("ridethrough %q ended before it logged %q", args, words)
	return ""
}

// run calls the command.
func run(t *testing.T, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = main.Command(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// free returns an address at which nothing listens. Its port is below those that a system chooses from by itself.
func free(t *testing.T) string {
	for range 1000 {
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000))); err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestCommand_GatewayPassesAll(t *testing.T) {
	if testing.Short() {
		t.Skip("waits ten seconds for the first keepalive")
	}
	provider := free(t)
	url := start(t, "listening", "serve", "--data", "none", "--listen", "127.0.0.1:0", "--upstream", "anthropic=http://"+provider)
	code, out, errs := run(t, "-provider", provider, "-json", url)
	if code != 0 || errs != "" {
		t.Errorf("our gateway: got code %d and %q, want 0", code, errs)
	}
	n := 0
	for line := range strings.Lines(out) {
		n++
		var r main.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Status != main.OK {
			t.Errorf("a check of our gateway: got %s (%v), want ok", line, err)
		}
	}
	if n < 20 {
		t.Errorf("checks of our gateway: got %d, want more than 20", n)
	}
}

func TestCommand_FreeChecksOnly(t *testing.T) {
	simulator := start(t, "simulating a provider", "simulator", "--listen", "127.0.0.1:0")
	code, out, errs := run(t, simulator)
	if code != 1 || !strings.Contains(errs, "could not be made") {
		t.Errorf("without a provider: got code %d and %q, want 1 and how many checks could not be made", code, errs)
	}
	for _, line := range []string{"ok           head", "not checked  cancel             needs --provider", "not checked  stream             needs --provider, or a key"} {
		if !strings.Contains(out, line) {
			t.Errorf("without a provider: got\n%s\nwant a line %q", out, line)
		}
	}
}

func TestCommand_BrokenGatewayIsExplained(t *testing.T) {
	code, out, errs := run(t, "-provider", free(t), "http://"+free(t))
	if code != 1 || !strings.Contains(errs, "checks fail") {
		t.Errorf("a gateway that is not there: got code %d and %q, want 1", code, errs)
	}
	for _, text := range []string{"fails        reachable", "connection refused", "wanted: POST /v1/messages", "client: Claude Code cannot connect."} {
		if !strings.Contains(out, text) {
			t.Errorf("a gateway that is not there: got\n%s\nwant %q", out, text)
		}
	}
}

func TestCommand_BadFlags(t *testing.T) {
	t.Setenv("A_KEY", "k")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "want the base URL of a gateway"},
		{"127.0.0.1:8484", 2, "want the base URL of a gateway"},
		{"-header nothing http://127.0.0.1:1", 2, "want 'Name: value'"},
		{"-key-env NO_SUCH_KEY http://127.0.0.1:1", 2, "the variable is empty"},
		{"-key-env A_KEY -provider 127.0.0.1:0 http://127.0.0.1:1", 2, "do not go together"},
		{"-provider " + taken.Addr().String() + " http://127.0.0.1:1", 1, "play the provider"},
	} {
		code, _, errs := run(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: got code %d and %q, want %d and %q", tt.args, code, errs, tt.code, tt.want)
		}
	}
}

// TestCommand_DocumentedChecks compares the checks with their table in the manual.
func TestCommand_DocumentedChecks(t *testing.T) {
	manual, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatalf("read the manual: %v", err)
	}
	_, out, _ := run(t, "-json", "http://"+free(t))
	for line := range strings.Lines(out) {
		var r main.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.Contains(string(manual), "| `"+r.Check+"` | "+r.About+" |") {
			t.Errorf("README.md has no row | `%s` | %s | (%v)", r.Check, r.About, err)
		}
	}
}

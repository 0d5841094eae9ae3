package cli_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/conform"
)

func TestConform_GatewayPassesAll(t *testing.T) {
	if testing.Short() {
		t.Skip("waits ten seconds for the first keepalive")
	}
	provider := freeAddr(t)
	url := start(t, "serve", "--data", "none", "--listen", "127.0.0.1:0", "--upstream", "anthropic=http://"+provider).waitForLog(t, "listening")["url"].(string)
	code, out, errs := run(t, nil, "conform", url, "--provider", provider, "--json")
	if code != 0 || errs != "" {
		t.Errorf("conform with our gateway: got code %d and %q, want 0", code, errs)
	}
	n := 0
	for line := range strings.Lines(out) {
		n++
		var r conform.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Status != conform.OK {
			t.Errorf("a check of our gateway: got %s (%v), want ok", line, err)
		}
	}
	if n < 20 {
		t.Errorf("checks of our gateway: got %d, want more than 20", n)
	}
}

func TestConform_FreeChecksOnly(t *testing.T) {
	simulator := start(t, "simulator", "--listen", "127.0.0.1:0").waitForLog(t, "simulating a provider")["url"].(string)
	code, out, errs := run(t, nil, "conform", simulator)
	if code != 1 || !strings.Contains(errs, "could not be made") {
		t.Errorf("conform without a provider: got code %d and %q, want 1 and how many checks could not be made", code, errs)
	}
	for _, line := range []string{"ok           head", "not checked  cancel             needs --provider", "not checked  stream             needs --provider, or a key"} {
		if !strings.Contains(out, line) {
			t.Errorf("conform without a provider: got\n%s\nwant a line %q", out, line)
		}
	}
}

func TestConform_BrokenGatewayIsExplained(t *testing.T) {
	provider := freeAddr(t)
	code, out, errs := run(t, nil, "conform", "http://"+freeAddr(t), "--provider", provider)
	if code != 1 || !strings.Contains(errs, "checks fail") {
		t.Errorf("conform with a gateway that is not there: got code %d and %q, want 1", code, errs)
	}
	for _, text := range []string{"fails        reachable", "connection refused", "wanted: POST /v1/messages", "client: Claude Code cannot connect."} {
		if !strings.Contains(out, text) {
			t.Errorf("conform with a gateway that is not there: got\n%s\nwant %q", out, text)
		}
	}
}

func TestConform_BadFlags(t *testing.T) {
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
		{"", 2, "want `ridethrough conform URL`"},
		{"127.0.0.1:8484", 2, "want the base URL of a gateway"},
		{"http://127.0.0.1:1 --header nothing", 2, "want 'Name: value'"},
		{"http://127.0.0.1:1 --key-env NO_SUCH_KEY", 78, "NO_SUCH_KEY: is empty"},
		{"http://127.0.0.1:1 --key-env A --provider 127.0.0.1:0", 2, "none of the others can be"},
		{"http://127.0.0.1:1 --provider " + taken.Addr().String(), 1, "play the provider"},
	} {
		code, _, errs := run(t, nil, append([]string{"conform"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("conform %s: got code %d and %q, want %d and %q", tt.args, code, errs, tt.code, tt.want)
		}
	}
}

// TestConform_DocumentedChecks compares the checks with their table in the manual.
func TestConform_DocumentedChecks(t *testing.T) {
	manual, err := os.ReadFile(filepath.FromSlash("../../docs/gateway.md"))
	if err != nil {
		t.Fatalf("read the manual: %v", err)
	}
	_, out, _ := run(t, nil, "conform", "http://"+freeAddr(t), "--json")
	for line := range strings.Lines(out) {
		var r conform.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.Contains(string(manual), "| `"+r.Check+"` | "+r.About+" |") {
			t.Errorf("docs/gateway.md has no row | `%s` | %s | (%v)", r.Check, r.About, err)
		}
	}
}

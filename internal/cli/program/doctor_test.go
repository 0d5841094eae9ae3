package program_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/cli/program"
)

// doctor runs `doctor` of the gateway's program on a configuration.
func doctor(t *testing.T, conf string, args ...string) (code int, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatalf("write the configuration: %v", err)
	}
	var said output
	code = program.Gateway().Run(t.Context(), append([]string{"doctor", "--config", file}, args...), command.Streams{
		Out: &said, Err: &said, Env: func(string) string { return "" },
	})
	return code, said.String()
}

func TestGatewayDoctor_ChecksConfigurationAndUpstreams(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer provider.Close()
	conf := "upstreams: {anthropic: {url: '" + provider.URL + "'}}\n"
	code, out := doctor(t, conf)
	for _, want := range []string{"ok       configuration: ", "config.yaml is valid\n", "ok       upstream anthropic: " + provider.URL + " answers after ", "ok       clock: "} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor: got\n%s, want it to say %q", out, want)
		}
	}
	if code != 0 || strings.Contains(out, "store") || strings.Contains(out, "keys") {
		t.Errorf("doctor: exit code %d, want 0, with nothing about a store or keys:\n%s", code, out)
	}
	if _, out = doctor(t, conf, "--offline"); strings.Contains(out, "upstream") {
		t.Errorf("doctor --offline contacts an upstream:\n%s", out)
	}
	provider.Close()
	if code, out = doctor(t, conf); code != 1 || !strings.Contains(out, "problem  upstream anthropic: "+provider.URL+" cannot be reached: ") {
		t.Errorf("doctor without a provider: got exit code %d, %s, want 1 and a problem", code, out)
	}
}

func TestGatewayDoctor_WrongConfiguration(t *testing.T) {
	code, out := doctor(t, "listen: nowhere\n", "--offline", "--json")
	if code != 1 || !strings.HasPrefix(out, `{"ok":false,`) || !strings.Contains(out, `"state":"problem"`) {
		t.Errorf("doctor: got exit code %d, %s, want 1 and a problem in JSON", code, out)
	}
}

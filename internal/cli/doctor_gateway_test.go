package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDoctor_ChecksConfigurationAndUpstreams(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer provider.Close()
	doctor := func(conf string, args ...string) (code int, out string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatalf("write the configuration: %v", err)
		}
		code, out, _ = run(t, nil, append([]string{"doctor", "--data", "none", "--config", file}, args...)...)
		return code, out
	}
	conf := "upstreams: {anthropic: {url: '" + provider.URL + "'}}\n"
	code, out := doctor(conf)
	for _, want := range []string{"ok       configuration: ", "config.yaml is valid\n", "ok       upstream anthropic: " + provider.URL + " answers after ", "ok       clock: ", "\nready\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor: got\n%s, want it to say %q", out, want)
		}
	}
	if strings.Contains(out, "openai") {
		t.Errorf("doctor asks a provider that is not used:\n%s", out)
	}
	if code != 0 {
		t.Errorf("doctor: exit code %d, want 0:\n%s", code, out)
	}
	if _, out = doctor(conf, "--offline"); strings.Contains(out, "upstream") {
		t.Errorf("doctor --offline contacts an upstream:\n%s", out)
	}
	provider.Close()
	if code, out = doctor(conf); code != 1 || !strings.Contains(out, "problem  upstream anthropic: "+provider.URL+" cannot be reached: ") || !strings.HasSuffix(out, "\nnot ready\n") {
		t.Errorf("doctor without a provider: got exit code %d, %s, want 1 and a problem", code, out)
	}
	if code, out = doctor("listen: nowhere\n", "--offline", "--json"); code != 1 || !strings.HasPrefix(out, `{"ok":false,`) || !strings.Contains(out, `"state":"problem"`) {
		t.Errorf("doctor on a wrong configuration: got exit code %d, %s, want 1 and a problem in JSON", code, out)
	}
}

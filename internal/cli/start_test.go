package cli_test

import (
	"regexp"
	"testing"
)

func TestVersion_NamesTheBuild(t *testing.T) {
	code, out, _ := run(t, nil, "--version")
	if want := `^ridethrough version (v\S+|devel\S*)\n(commit    .*\n)?built by  go\S+ for \w+/\w+\nfeatures  gateway, .*agents.*\n$`; code != 0 || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("--version: got code %d, %q, want 0 and %s", code, out, want)
	}
}

// TestServe_NamesTheVariablesOfClients is about the line that tells where clients are pointed at the gateway.
func TestServe_NamesTheVariablesOfClients(t *testing.T) {
	s := start(t, "serve", "--listen", "127.0.0.1:0", "--data", "none")
	logs := s.waitForLogs(t, "listening", "point your clients here")
	base, _ := logs["listening"]["url"].(string)
	for variable, want := range map[string]string{
		"ANTHROPIC_BASE_URL": base, "OPENAI_BASE_URL": base + "/v1", "GOOGLE_GEMINI_BASE_URL": base,
		"ANTHROPIC_BEDROCK_BASE_URL": base, "ANTHROPIC_VERTEX_BASE_URL": base + "/v1",
	} {
		if got := logs["point your clients here"][variable]; got != want {
			t.Errorf("%s: got %v, want %s", variable, got, want)
		}
	}
	s.stop()
}

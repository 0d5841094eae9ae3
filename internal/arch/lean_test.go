package arch_test

import (
	"os/exec"
	"strings"
	"testing"
)

// noProgram is what the program does not compile: the vendors' SDKs, and what came with them, and the server of NATS,
// which tests run.
var noProgram = []string{
	"github.com/anthropics/", "github.com/openai/", "google.golang.org/genai", "github.com/ollama/", "cloud.google.com/", "github.com/googleapis/",
	"google.golang.org/grpc", "github.com/spf13/cobra/doc", "github.com/nats-io/nats-server",
}

func TestProgram_BringsNoSDK(t *testing.T) {
	compilesNone(t, "cmd/ridethrough", noProgram)
}

// compilesNone fails if a program compiles a package whose path begins so.
func compilesNone(t *testing.T, program string, prefixes []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+program)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, not := range prefixes {
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, not) {
				t.Errorf("%s compiles %s", program, strings.TrimSpace(line))
			}
		}
	}
	if !strings.Contains(string(out), module+"/gateway\n") {
		t.Errorf("%s does not compile the gateway:\n%s", program, out)
	}
}

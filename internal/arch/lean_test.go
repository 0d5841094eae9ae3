package arch_test

import (
	"os/exec"
	"strings"
	"testing"
)

// noProgram is what no program compiles: the vendors' SDKs, and what came with them.
var noProgram = []string{
	"github.com/anthropics/", "github.com/openai/", "google.golang.org/genai", "github.com/ollama/", "cloud.google.com/", "github.com/googleapis/",
	"google.golang.org/grpc", "google.golang.org/protobuf/", "go.opentelemetry.io/", "github.com/prometheus/",
}

func TestWhole_BringsNoSDK(t *testing.T) {
	compilesNone(t, "cmd/ridethrough", noProgram)
}

// TestGateway_BringsNothingOfAgents is about what the program that is a gateway alone compiles.
func TestGateway_BringsNothingOfAgents(t *testing.T) {
	compilesNone(t, "cmd/ridethrough-gateway", append([]string{
		module + "/provider", module + "/tool", module + "/store", module + "/agent", module + "/conversation", module + "/council", module + "/internal/app",
		"github.com/nats-io/", "github.com/modelcontextprotocol/", "github.com/google/", "github.com/charmbracelet/", "charm.land/",
	}, noProgram...))
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

package arch_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestGateway_BringsNothingOfAgents is about what the program that is a gateway alone compiles.
func TestGateway_BringsNothingOfAgents(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/ridethrough-gateway")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, not := range []string{
		module + "/provider", module + "/tool", module + "/store", module + "/agent", module + "/conversation", module + "/council", module + "/internal/app",
		"github.com/anthropics/", "github.com/openai/", "google.golang.org/genai", "github.com/ollama/", "cloud.google.com/",
		"github.com/nats-io/", "github.com/modelcontextprotocol/", "google.golang.org/grpc", "google.golang.org/protobuf/proto",
		"github.com/google/", "github.com/googleapis/", "go.opentelemetry.io/", "github.com/prometheus/", "github.com/charmbracelet/", "charm.land/",
	} {
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, not) {
				t.Errorf("cmd/ridethrough-gateway compiles %s", strings.TrimSpace(line))
			}
		}
	}
	if !strings.Contains(string(out), module+"/gateway\n") {
		t.Errorf("cmd/ridethrough-gateway does not compile the gateway:\n%s", out)
	}
}

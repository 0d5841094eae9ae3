package cli_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli"
	"github.com/ridethrough/ridethrough/internal/cli/command"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

func TestCouncil_JSONEndsWithExitOnBadFlags(t *testing.T) {
	for _, args := range []string{"--bogus", "--budget soon", "--grace 0s -m a/x -m b/y", "-m ollama/x", "-m ollama/x -m ollama/y --quorum 3", "-m acme/x -m ollama/y"} {
		code, out, errs := run(t, nil, append([]string{"council", "hi", "--json"}, strings.Fields(args)...)...)
		if code != 2 || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"type":"exit","status":"failed","exitCode":2,"message":`) || errs == "" {
			t.Errorf("%s: code %d, %q, %q", args, code, out, errs)
		}
	}
}

func TestCouncil_ReportsUnwritableAnswer(t *testing.T) {
	var errs bytes.Buffer
	env := agentEnv(t, simulator.Script{})
	args := []string{"council", "hi", "-m", "claude-x", "-m", "claude-y", "--json"}
	code := cli.Run(t.Context(), args, command.Streams{Out: full{errors.New("no space")}, Err: &errs, Env: lookup(env)})
	if code != 1 || !strings.Contains(errs.String(), "the answer cannot be written: write out: no space") {
		t.Errorf("code %d, %s", code, &errs)
	}
}

// stuck is a writer that blocks until free is closed.
type stuck struct {
	bytes.Buffer
	free chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.free
	return s.Buffer.Write(p)
}

func TestCouncil_SlowReaderDoesNotDelayMembers(t *testing.T) {
	asked := make(chan struct{}, 8)
	model := simulator.New(simulator.Script{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		model.ServeHTTP(w, r)
		asked <- struct{}{}
	}))
	defer server.Close()
	env := []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=k"}
	out := &stuck{free: make(chan struct{})}
	over := make(chan int)
	go func() {
		args := []string{"council", "hi", "-m", "claude-x", "-m", "claude-y", "--json"}
		over <- cli.Run(t.Context(), args, command.Streams{Out: out, Err: io.Discard, Env: lookup(env)})
	}()
	for range 3 { // two members and the judge
		select {
		case <-asked:
		case <-time.After(30 * time.Second):
			t.Error("the models were not asked while the output was not read")
		}
	}
	close(out.free)
	if code := <-over; code != 0 || !strings.HasSuffix(out.String(), `"exitCode":0}`+"\n") {
		t.Errorf("code %d, %s", code, &out.Buffer)
	}
}

package mcp_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ridethrough/ridethrough/tool/mcp"
)

// role makes the test's own program play a server.
const role = "RIDETHROUGH_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "offer":
		_ = offer().Run(context.Background(), &sdk.StdioTransport{})
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		_ = offer().Run(context.Background(), &sdk.StdioTransport{})
		select {}
	case "polite":
		done := make(chan os.Signal, 1)
		signal.Notify(done, syscall.SIGTERM)
		_ = offer().Run(context.Background(), &sdk.StdioTransport{})
		<-done
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "once":
		if err := os.Mkdir(os.Getenv("RIDETHROUGH_TEST_MARK"), 0o700); err != nil {
			os.Exit(7)
		}
		_ = offer().Run(context.Background(), &sdk.StdioTransport{})
	case "late":
		if os.Mkdir(os.Getenv("RIDETHROUGH_TEST_MARK"), 0o700) == nil {
			os.Exit(7)
		}
		_ = offer().Run(context.Background(), &sdk.StdioTransport{})
	case "dead":
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(5)
	case "babble":
		fmt.Println("Welcome!")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "environment":
		fmt.Fprint(os.Stderr, strings.Join(os.Environ(), "\n"))
	}
}

// child is this program as a server that plays a part.
func child(part string) mcp.Server {
	return mcp.Server{Name: "test", Command: os.Args[0], Env: []string{role + "=" + part, "GORACE=atexit_sleep_ms=0"}, StopTimeout: time.Minute}
}

func TestClient_Process(t *testing.T) {
	tools, m := connected(t, child("offer"))
	answers(t, tools)
	if err := m.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if got, want := run(t.Context(), tools["echo"], ""), "!the connection to the server is closed"; got != want {
		t.Errorf("call afterwards: %q", got)
	}
}

// resultText collects what a server says on standard error.
type resultText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *resultText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *resultText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestClient_ProcessThatDies(t *testing.T) {
	var stderr resultText
	server := child("offer")
	server.Stderr = &stderr
	tools, m := connected(t, server)
	if got, want := run(t.Context(), tools["exits"], ""), "!the server has ended: exit status 3; whether the call has taken effect is not known, so look before you try again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := run(t.Context(), tools["echo"], ""); got != "{}" {
		t.Errorf("the next call: %q", got)
	}
	if err := m.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if got := stderr.String(); got != "out of cheese\n" {
		t.Errorf("standard error: %q", got)
	}
}

// TestClient_CloseEndsStubbornProcess would hang, or leave a process that
// holds the test's output, if they were not.
func TestClient_CloseEndsStubbornProcess(t *testing.T) {
	for _, part := range []string{"stubborn", "polite"} {
		server := child(part)
		server.StopTimeout = 100 * time.Millisecond
		_, m := connected(t, server)
		if err := m.Close(); err != nil {
			t.Errorf("Close of a %s server: got error %v, want none", part, err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("%s, again: %v", part, err)
		}
	}
}

func TestConnect_ProgramIsNoServer(t *testing.T) {
	for part, want := range map[string]string{
		"silent": "mcp server test: no connection within 100ms",
		"dead":   "mcp server test: the server has ended: exit status 5",
		"babble": "mcp server test: ",
	} {
		server := child(part)
		if part == "silent" {
			server.ConnectTimeout = 100 * time.Millisecond
		}
		if _, err := mcp.Connect(t.Context(), server); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", part, err, want)
		}
	}
}

func TestClient_RestartFails(t *testing.T) {
	server := child("once")
	server.Env = append(server.Env, "RIDETHROUGH_TEST_MARK="+filepath.Join(t.TempDir(), "mark"))
	tools, _ := connected(t, server)
	run(t.Context(), tools["exits"], "")
	for range 2 {
		if got, want := run(t.Context(), tools["echo"], ""), "!reconnect: the server has ended: exit status 7"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestConnect_EnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	var stderr resultText
	server := child("environment")
	server.Stderr = &stderr
	if _, err := mcp.Connect(t.Context(), server); err == nil {
		t.Error("no error")
	}
	got := stderr.String()
	if strings.Contains(got, "secret") || !strings.Contains(got, role+"=environment") || !strings.Contains(got, "PATH=") {
		t.Errorf("the server's environment: %s", got)
	}
}

func TestClient_CloseEndsCallsOfProcess(t *testing.T) {
	tools, m := connected(t, child("offer"))
	go m.Close()
	if got := run(t.Context(), tools["hangs"], ""); !strings.HasPrefix(got, "!the ") {
		t.Errorf("result %q", got)
	}
}

func TestClient_SecretsAreReadAtEachStart(t *testing.T) {
	starts := 0
	server := child("")
	server.Secrets = func() ([]string, error) {
		starts++
		return []string{role + "=offer"}, nil
	}
	server.Env = server.Env[1:]
	tools, _ := connected(t, server)
	run(t.Context(), tools["exits"], "")
	if got := run(t.Context(), tools["echo"], ""); got != "{}" || starts != 2 {
		t.Errorf("call after a restart, readings of the secrets: got %q, %d, want {}, 2", got, starts)
	}
}

func TestOpen_ConnectsWhenItIsUsed(t *testing.T) {
	server := child("once")
	server.Env = append(server.Env, "RIDETHROUGH_TEST_MARK="+filepath.Join(t.TempDir(), "mark"))
	m := mcp.Open(server)
	t.Cleanup(func() { m.Close() })
	if got := m.Tools(); len(got) != 0 {
		t.Errorf("tools before the first connection: got %d, want none", len(got))
	}
	first, err := m.List(t.Context())
	if err != nil || len(first) == 0 {
		t.Fatalf("List: got %d tools, %v, want some", len(first), err)
	}
	for _, x := range first {
		if x.Name == "mcp__test__exits" {
			run(t.Context(), x, "")
		}
	}
	if again, err := m.List(t.Context()); err != nil || len(again) != len(first) {
		t.Errorf("List of a server that does not start again: got %d tools, %v, want the %d of before", len(again), err, len(first))
	}
}

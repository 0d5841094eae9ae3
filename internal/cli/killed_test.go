package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/natstest"
)

// killedRun is a gateway that is killed and started again while its clients wait in an outage.
type killedRun struct {
	*testing.T
	provider *simulator.Provider
	addr     string
	args     []string
	env      []string // beside that of the test
	home     string
	cmd      *exec.Cmd
	said     saidText
}

// saidText is what a process has written so far.
type saidText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a part.
func (s *saidText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// String returns all of it.
func (s *saidText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// begin starts the gateway.
func (k *killedRun) begin() {
	k.cmd = exec.Command("ridethrough", k.args...)
	k.cmd.Env = append(os.Environ(), "HOME="+k.home, "XDG_DATA_HOME="+k.home, "RIDETHROUGH_DATA=")
	k.cmd.Env = append(k.cmd.Env, k.env...)
	k.cmd.Stderr = &k.said
	if err := k.cmd.Start(); err != nil {
		k.Fatalf("start the gateway: %v", err)
	}
}

// startGateway starts the gateway, and waits until it listens.
func (k *killedRun) startGateway() {
	k.begin()
	k.awaitListening()
}

func (k *killedRun) awaitListening() {
	for end := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", k.addr); err == nil {
			_ = c.Close()
			return
		} else if time.Now().After(end) {
			k.Fatalf("the gateway does not listen: %v\n%s", err, &k.said)
		}
	}
}

func (k *killedRun) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}

// client is a program with Anthropic's SDK: it sends its request again after a lost connection, with the waits and
// the header of the SDK.
func (k *killedRun) client(ctx context.Context, n int, sent *atomic.Int64) {
	body := fmt.Sprintf(`{"model":"claude-sonnet","max_tokens":64,"messages":[{"role":"user","content":"call %d."}]}`, n)
	for try := 0; ctx.Err() == nil; try++ {
		req, err := http.NewRequestWithContext(ctx, "POST", "http://"+k.addr+"/v1/messages", strings.NewReader(body))
		if err != nil {
			k.Errorf("NewRequest: %v", err)
			return
		}
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "User-Agent": {"Anthropic/Python 0.76.0"},
			"X-Api-Key": {"sk-ant-test"}, "X-Stainless-Retry-Count": {strconv.Itoa(try)},
		}
		sent.Add(1)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			return
		}
		if errors.Is(err, context.Canceled) {
			return
		}
		<-time.After(min(500*time.Millisecond<<try, 8*time.Second))
	}
}

// afterKill returns the requests at the provider until the gateway is killed, and in some seconds after its restart.
func afterKill(t *testing.T, clients int, watched time.Duration, args ...string) (before, after int) {
	k := &killedRun{T: t, provider: simulator.New(simulator.Script{Outages: []simulator.Outage{{To: time.Hour}}}), home: t.TempDir()}
	server := httptest.NewServer(k.provider)
	k.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(natstest.Ports(t, 1)[0]))
	config := write(t, t.TempDir(), "c.yaml", "upstreams: {anthropic: {url: '"+server.URL+"'}}\n")
	k.args = append([]string{"serve", "--config", config, "--listen", k.addr}, args...)
	k.startGateway()
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	t.Cleanup(func() { leave(); all.Wait(); k.kill(); server.Close(); _ = k.provider.Close() })
	var sent atomic.Int64
	for n := range clients {
		all.Go(func() { k.client(ctx, n, &sent) })
	}
	<-time.After(4 * time.Second) // they wait, and what waits is written once a second
	k.kill()
	before = len(k.provider.Requests())
	k.startGateway()
	<-time.After(watched)
	if got := sent.Load(); got < int64(2*clients) {
		t.Errorf("%d requests of the clients, want %d: all come back", got, 2*clients)
	}
	return before, len(k.provider.Requests()) - before
}

// A gateway with a directory knows after a kill what it held, and that its upstream is down: clients that come back take
// their places, and the provider is not asked once for each of them.
func TestServe_KilledGatewayRemembersWhatWaited(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds")
	}
	const clients, watched = 30, 4 * time.Second
	for name, tt := range map[string]struct {
		data        string
		least, most int
	}{
		"with a directory": {t.TempDir(), 1, 20},
		"without one":      {"none", clients, 2 * clients},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := afterKill(t, clients, watched, "--data", tt.data)
			t.Logf("%d clients: %d requests before the kill, %d in %v after it", clients, before, after, watched)
			if after < tt.least || after > tt.most {
				t.Errorf("%d requests in %v after the kill, want %d to %d", after, watched, tt.least, tt.most)
			}
		})
	}
}

package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/internal/natstest"
)

var fleetTime = flag.Duration("fleet", 0, "how long gateways and NATS servers are killed in TestFleetKilled_EveryCallIsAnsweredOnce, such as 40s or 5m; 0: it is skipped")

const (
	fleetSize  = 3
	fleetCalls = 600
	arrivals   = 4 * time.Second // over which they come: of calls of one instant most are sent before anything is known
)

// fleetRun is a fleet of processes, the cluster of NATS servers that they use, a provider, and its clients.
type fleetRun struct {
	*testing.T
	provider *simulator.Provider
	nodes    []natstest.Node
	servers  []*server.Server // nil: it does not run
	config   string
	gateways []*fleetGateway
	resent   atomic.Int64
}

// fleetGateway is one of its gateways.
type fleetGateway struct {
	addr string
	mu   sync.Mutex
	cmd  *exec.Cmd // nil: it does not run
	said bytes.Buffer
}

// Three gateways and three NATS servers are killed, drained and started again while all calls wait in an outage. The
// NATS servers come after the gateways.
func TestFleetKilled_EveryCallIsAnsweredOnce(t *testing.T) {
	if *fleetTime == 0 {
		t.Skip("run it with -args -fleet 40s")
	}
	f := &fleetRun{T: t, nodes: natstest.Nodes(t, fleetSize), servers: make([]*server.Server, fleetSize)}
	f.provider = simulator.New(simulator.Script{Outages: []simulator.Outage{{To: *fleetTime}}})
	f.config = write(t, t.TempDir(), "fleet.yaml", "upstreams: {anthropic: {url: '"+f.serveProvider()+"'}}\n")
	ports := natstest.Ports(t, fleetSize)
	for i := range fleetSize {
		f.gateways = append(f.gateways, &fleetGateway{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i]))})
		f.startGateway(i)
	}
	t.Cleanup(f.end)
	var calls sync.WaitGroup
	answered := make([]atomic.Int64, fleetCalls)
	over := make(chan struct{})
	for n := range fleetCalls {
		calls.Go(func() {
			<-time.After(arrivals * time.Duration(n) / fleetCalls)
			f.call(n, &answered[n], over)
		})
	}
	f.startNode(0)
	f.startNode(1)
	f.startNode(2)
	begun := time.Now()
	f.disturb(begun.Add(*fleetTime))
	done := make(chan struct{})
	go func() { calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2*time.Minute + *fleetTime/2):
		close(over)
		<-done
	}
	f.judge(answered, time.Since(begun))
}

// serveProvider serves the provider, and returns its URL.
func (f *fleetRun) serveProvider() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatalf("listen: %v", err)
	}
	s := &http.Server{Handler: f.provider}
	go func() { _ = s.Serve(l) }()
	f.Cleanup(func() { _ = s.Close(); _ = f.provider.Close() })
	return "http://" + l.Addr().String()
}

// startGateway starts a gateway that does not run.
func (f *fleetRun) startGateway(i int) {
	g := f.gateways[i]
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cmd = exec.Command("ridethrough", "serve", "--config", f.config, "--listen", g.addr, "--nats", natstest.URLs(f.nodes))
	g.cmd.Env = append(os.Environ(), "HOME="+f.TempDir(), "RIDETHROUGH_DATA=")
	g.cmd.Stderr = &g.said
	if err := g.cmd.Start(); err != nil {
		f.Fatalf("start gateway %d: %v", i, err)
	}
}

// stopGateway stops a gateway with a signal, and waits for its end.
func (f *fleetRun) stopGateway(i int, with syscall.Signal) {
	g := f.gateways[i]
	g.mu.Lock()
	cmd := g.cmd
	g.cmd = nil
	g.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Signal(with)
		_ = cmd.Wait()
	}
}

func (f *fleetRun) startNode(i int) {
	o := f.nodes[i].Options()
	o.SyncAlways = false // no power fails here
	s, err := natstest.Start(o)
	if err != nil {
		f.Errorf("start NATS server %d: %v", i, err)
		return
	}
	f.servers[i] = s
}

func (f *fleetRun) stopNode(i int) {
	if s := f.servers[i]; s != nil {
		natstest.Stop(s)
		f.servers[i] = nil
	}
}

// end stops everything.
func (f *fleetRun) end() {
	for i := range fleetSize {
		f.stopGateway(i, syscall.SIGKILL)
		f.stopNode(i)
	}
}

// disturb kills and drains gateways and NATS servers, one at a time, until some seconds before an end.
func (f *fleetRun) disturb(end time.Time) {
	rest := func(least, more int) { <-time.After(time.Duration(least+rand.IntN(more)) * time.Millisecond) }
	for time.Until(end) > 6*time.Second {
		rest(1500, 1500)
		i := rand.IntN(fleetSize)
		switch rand.IntN(4) {
		case 0:
			f.Logf("%v: kill gateway %d", time.Until(end), i)
			f.stopGateway(i, syscall.SIGKILL)
			rest(500, 1000)
			f.startGateway(i)
		case 1, 2:
			f.Logf("%v: drain gateway %d", time.Until(end), i)
			f.stopGateway(i, syscall.SIGTERM)
			rest(500, 1000)
			f.startGateway(i)
		case 3:
			f.Logf("%v: stop NATS server %d", time.Until(end), i)
			f.stopNode(i)
			rest(500, 2000)
			f.startNode(i)
		}
	}
}

// call is a client: it sends its request again, to a gateway that lives, until it has a whole answer.
func (f *fleetRun) call(n int, answered *atomic.Int64, over <-chan struct{}) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	body := fmt.Sprintf(`{"model":"claude-sonnet","max_tokens":64,"messages":[{"role":"user","content":"call %d."}],"stream":true}`, n)
	for try := 0; ; try++ {
		req, _ := http.NewRequestWithContext(f.Context(), "POST", "http://"+f.gateways[(n+try)%fleetSize].addr+"/v1/messages", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", "sk-client")
		req.Header.Set("X-Claude-Code-Session-Id", fmt.Sprint("session-", n))
		req.Header.Set("X-Stainless-Retry-Count", strconv.Itoa(try))
		if resp, err := client.Do(req); err == nil {
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil && resp.StatusCode == http.StatusOK && bytes.Contains(text, []byte("message_stop")) {
				answered.Add(1)
				return
			}
		}
		f.resent.Add(1)
		select {
		case <-over:
			return
		case <-time.After(500*time.Millisecond + time.Duration(rand.IntN(1000))*time.Millisecond):
		}
	}
}

// judge checks what the clients and the provider have seen.
func (f *fleetRun) judge(answered []atomic.Int64, took time.Duration) {
	unanswered := 0
	for n := range answered {
		if answered[n].Load() != 1 {
			unanswered++
		}
	}
	all, answers := f.provider.Requests(), map[string]int{}
	for _, r := range all {
		if r.Outcome == "ok" {
			answers[promptOf(r.Body)]++
		}
	}
	twice := 0
	for _, n := range answers {
		if n > 1 {
			twice++
		}
	}
	each := float64(len(all)) / fleetCalls
	f.Logf("failed upstream requests by second: %v", failures(all))
	f.Logf("%d calls in %v: %d re-sends, %d upstream requests, %.2f a call, %d calls without an answer, %d answered twice upstream",
		fleetCalls, took.Round(time.Second), f.resent.Load(), len(all), each, unanswered, twice)
	if unanswered > 0 || twice > 0 || each > 1.3 {
		f.Errorf("%d calls without an answer, %d with two, %.2f upstream requests a call; want 0, 0 and at most 1.3", unanswered, twice, each)
		for i, g := range f.gateways {
			f.Logf("gateway %d:\n%s", i, tail(g.said.String(), 3000))
		}
	}
}

// failures counts the requests that were not answered, by the second in which they came.
func failures(all []simulator.Request) map[int]int {
	by := map[int]int{}
	for _, r := range all {
		if r.Outcome != "ok" {
			by[int(r.At/time.Second)]++
		}
	}
	return by
}

// promptOf returns the prompt of a request.
func promptOf(body []byte) string {
	var ask struct{ Messages []struct{ Content string } }
	if json.Unmarshal(body, &ask) != nil || len(ask.Messages) == 0 {
		return ""
	}
	return ask.Messages[0].Content
}

// tail returns the end of a text.
func tail(text string, n int) string { return text[max(0, len(text)-n):] }

package npm_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
)

// answer is the healthy provider's answer.
const answer = "The provider is well again, and this is all that it has to say."

// silence is how long a try may be silent where the provider is. It is real
// time, and long enough for a machine that has much to do.
const silence = time.Second

// fixture is a provider and a gateway in front of it, both on loopback with the
// servers and clients that they have by default.
type fixture struct {
	t        *testing.T
	node     *node
	provider *simulator.Provider
	gateway  *gateway.Gateway
	upstream *url.URL           // of the provider
	url      string             // of the gateway
	direct   string             // of the provider
	asked    atomic.Int64       // requests at the gateway
	answered chan http.Header   // of each answer of the gateway's, when it is over
	arrived  chan string        // the outcome of each request at the provider, as it is decided
	gone     chan struct{}      // for each connection to the provider that has ended
	events   chan gateway.Event // of the gateway
}

// hurried waits some milliseconds, as often as it takes.
func hurried() policy.Policy {
	p := policy.Patient()
	p.Backoff = policy.Backoff{Steps: []time.Duration{5 * time.Millisecond}}
	return p
}

// newFixture starts both for one test.
func newFixture(t *testing.T, p policy.Policy, script simulator.Script) *fixture {
	t.Helper()
	w := &fixture{
		t: t, node: sdks(t), answered: make(chan http.Header, 64), arrived: make(chan string, 64),
		gone: make(chan struct{}, 64), events: make(chan gateway.Event, 256),
	}
	script.OnRequest = func(r simulator.Request) { w.arrived <- r.Outcome }
	w.provider = simulator.New(script)
	upstream := w.listen()
	upstreams := append(gateway.Defaults(), gateway.Upstream{Name: "azure", API: "azure"})
	for i := range upstreams {
		upstreams[i].Base = upstream
		if slices.Contains(script.Replies, simulator.Reply(simulator.Silence{})) {
			upstreams[i].Limits = &gateway.Limits{FirstByte: silence}
		}
	}
	g, err := gateway.New(gateway.Config{Upstreams: upstreams, Policy: p, OnEvent: func(e gateway.Event) { w.events <- e }})
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	front := listening(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		defer func() { w.answered <- rw.Header().Clone() }()
		g.ServeHTTP(rw, r)
	}))
	w.gateway, w.upstream = g, upstream
	w.url, w.direct = front.URL, upstream.String()
	t.Cleanup(func() {
		front.CloseClientConnections() // of calls that are left to themselves
		g.Close()
		front.Close()
	})
	return w
}

// listening returns a server with the protocols of `ridethrough serve`.
func listening(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	return s
}

// listen puts the provider on a port. What it does to a connection is its own
// server's doing; the end of a request is reported on gone.
func (w *fixture) listen() *url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatalf("listen: %v", err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = w.provider.Serve(watched{l, w.gone}) })
	w.t.Cleanup(func() {
		_ = w.provider.Close()
		serving.Wait()
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

// watched is a listener that reports ended connections.
type watched struct {
	net.Listener
	gone chan struct{}
}

func (l watched) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{TCPConn: c.(*net.TCPConn), gone: l.gone}, nil
}

type conn struct {
	*net.TCPConn
	gone chan struct{}
	once sync.Once
}

func (c *conn) Close() error {
	c.once.Do(func() {
		select {
		case c.gone <- struct{}{}:
		default: // no reader
		}
	})
	return c.TCPConn.Close()
}

// ask makes a call through the gateway and returns its result.
func (w *fixture) ask(call string) result {
	w.t.Helper()
	done, _ := w.node.call(w.t, call, w.url, false)
	return w.of(done)
}

// bare makes a call with nothing between the SDK and the provider.
func (w *fixture) bare(call string) result {
	w.t.Helper()
	done, _ := w.node.call(w.t, call, w.direct, false)
	return w.of(done)
}

// until waits for an event of a request.
func (w *fixture) until(what string, is func(turn.Event) bool) {
	w.t.Helper()
	for !is(within(w.t, w.events, what).Event) {
	}
}

func waits(e turn.Event) bool { _, ok := e.(turn.Retry); return ok }

func left(e turn.Event) bool { failed, ok := e.(turn.Error); return ok && failed.Left() }

// of waits for a result, but not for ever.
func (w *fixture) of(done <-chan result) result {
	w.t.Helper()
	return within(w.t, done, "a result")
}

// within waits for what has to come soon.
func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	select {
	case v := <-c:
		return v
	case <-limit.C:
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

// check compares how often the SDK has asked, and what the provider did each
// time.
func (w *fixture) check(asked int64, outcomes string) {
	w.t.Helper()
	var all []string
	for _, r := range w.provider.Requests() {
		all = append(all, r.Outcome)
	}
	if got := strings.Join(all, " "); got != outcomes || w.asked.Load() != asked {
		w.t.Errorf("the SDK asked %d times, the provider did: %s; want %d times, %s", w.asked.Load(), got, asked, outcomes)
	}
}

// script returns the replies in words.
func script(t *testing.T, words string) simulator.Script {
	t.Helper()
	replies, err := simulator.Parse(words)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return simulator.Script{Replies: replies}
}

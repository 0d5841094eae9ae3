package sdk_test

import (
	"net"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

func TestSDK_FaultBeforeContentIsHiddenOnSockets(t *testing.T) {
	for _, c := range calls {
		for _, replies := range []string{"ok", "529", "503*3", "reset", "refused", "error-first", "role-error", "cut:0", "cut:0:clean", "html", "empty"} {
			t.Run(c.name+"/"+replies, func(t *testing.T) {
				want := healthy(t.Context(), t, c)
				s, provider := sockets(t, script(t, replies))
				got, err := c.ask(t.Context(), s)
				if err != nil || got.anonymous() != want {
					t.Errorf("answer %+v, error %v", got, err)
				}
				asked := provider.Requests()
				if tries := len(script(t, replies).Replies); replies != "ok" && len(asked) != tries+1 {
					t.Errorf("%d tries at the provider", len(asked))
				}
			})
		}
	}
}

func TestSDK_BrokenStreamIsAnErrorOnSockets(t *testing.T) {
	for _, c := range streams {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				s, provider := sockets(t, script(t, cut))
				got, err := c.ask(t.Context(), s)
				if reasonOf(err).Body == "" || got.Stop != "" || len(provider.Requests()) != 1 {
					t.Errorf("answer %+v, error %v, %d tries", got, err, len(provider.Requests()))
				}
			})
		}
	}
}

// sockets starts a provider and a gateway on loopback, both with the clients
// and servers that they have by default. The gateway does not wait.
func sockets(t *testing.T, script simulator.Script) (endpoint, *simulator.Provider) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	provider := simulator.New(script)
	var serving sync.WaitGroup
	serving.Go(func() { _ = provider.Serve(l) })
	upstream := &url.URL{Scheme: "http", Host: l.Addr().String()}
	hurried := policy.Patient()
	hurried.Backoff = policy.Backoff{}
	server := httptest.NewServer(newGateway(t, gateway.Config{
		Upstreams: allUpstreams(upstream),
		Policy:    hurried,
	}))
	t.Cleanup(func() {
		server.Close()
		_ = provider.Close()
		serving.Wait()
	})
	return endpoint{url: server.URL}, provider
}

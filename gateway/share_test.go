package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
)

// toldFleet is a fleet that notes the keys it is sent.
type toldFleet struct{ news []string }

func (f *toldFleet) Put(key string, _ []byte) { f.news = append(f.news, key) }
func (*toldFleet) ID() string                 { return "a" }
func (*toldFleet) Others() int                { return 0 }

func TestGateway_BreakersAreSharedOnceEach(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer up.Close()
	base, _ := url.Parse(up.URL + "/base")
	var table *ratelimit.Table
	fleet, shared := &toldFleet{}, []string{}
	c := gateway.Config{
		Upstreams: []gateway.Upstream{{Name: "one", API: "anthropic", Base: base}},
		Policy:    policy.Policy{Retries: 1, MaxRetryAfter: time.Second}, // it gives up at once
		Share: func(upstream string, base *url.URL, b *breaker.Breaker, limits *ratelimit.Table) func() {
			table = limits
			shared = append(shared, upstream+" "+base.Path)
			b.Join(fleet)
			return func() { shared = append(shared, "left "+base.Path) }
		},
	}
	g, err := gateway.New(c)
	if err == nil {
		err = g.Use(c) // the same upstream keeps its breaker
	}
	if err != nil {
		t.Fatalf("make the gateway: %v", err)
	}
	defer g.Close()
	if table == nil {
		t.Error("shared no limits, want those of the gateway")
	}
	if got := strings.Join(shared, ","); got != "one /base" {
		t.Errorf("shared %q, want the breaker of the upstream once", got)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(`{"model":"m","messages":[]}`))
	r.Header.Set("X-Api-Key", "sk-mine")
	g.ServeHTTP(httptest.NewRecorder(), r)
	if len(fleet.news) == 0 || !strings.HasSuffix(fleet.news[0], "\t"+breaker.CommonCredential(r.Header, r.URL)) {
		t.Errorf("the fleet is told %+v, want of the credential by its common name", fleet.news)
	}
}

// The breaker of an upstream that has left the configuration is shared no longer, and one of the same name that has
// come back is.
func TestGateway_UpstreamThatIsGoneIsNoLongerShared(t *testing.T) {
	var log []string
	at := func(addresses ...string) (c gateway.Config) {
		for _, a := range addresses {
			base, _ := url.Parse("http://" + a)
			c.Upstreams = append(c.Upstreams, gateway.Upstream{Name: a[:1], API: "anthropic", Base: base})
		}
		c.Share = func(_ string, base *url.URL, _ *breaker.Breaker, _ *ratelimit.Table) func() {
			log = append(log, "+"+base.Host)
			return func() { log = append(log, "-"+base.Host) }
		}
		return c
	}
	g, err := gateway.New(at("a1", "b1"))
	for _, c := range []gateway.Config{at("a1", "b1"), at("a1"), at("a1", "b1"), at("a2", "b1")} {
		if err == nil {
			err = g.Use(c)
		}
	}
	if err != nil {
		t.Fatalf("use the configurations: %v", err)
	}
	defer g.Close()
	if got, want := strings.Join(log, " "), "+a1 +b1 -b1 +b1 +a2 -a1"; got != want {
		t.Errorf("shared and released: got %s, want %s", got, want)
	}
}

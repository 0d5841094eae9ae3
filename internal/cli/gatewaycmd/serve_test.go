package gatewaycmd

import (
	"net/url"
	"testing"

	"github.com/ridethrough/ridethrough/gateway"
)

func TestNoLoop_RefusesTheGatewaysOwnAddress(t *testing.T) {
	tests := []struct {
		listen, upstream string
		loop             bool
	}{
		{"127.0.0.1:8484", "http://127.0.0.1:8484", true},
		{"127.0.0.1:8484", "http://localhost:8484/v1", true},
		{"127.0.0.1:8484", "http://LOCALHOST.:8484/v1", true},
		{"127.0.0.1:8484", "http://gateway.localhost:8484", true},
		{"127.0.0.1:8484", "http://0.0.0.0:8484", true},
		{"127.0.0.1:8484", "http://[::ffff:127.0.0.1]:8484", true},
		{"[::1]:8484", "http://[::1]:8484", true},
		{"[::1]:8484", "http://localhost:8484", true},
		{"[::]:8484", "http://127.0.0.1:8484", true},
		{"[::]:8484", "http://[::1]:8484", true},
		{"0.0.0.0:80", "http://127.0.0.2", true},
		{"0.0.0.0:443", "https://localhost", true},
		{"127.0.0.1:8484", "http://127.0.0.1:8485", false},
		{"127.0.0.1:8484", "http://127.0.0.2:8484", false},
		{"127.0.0.1:8484", "http://gateway.example:8484", false},
		{"127.0.0.1:8484", "https://127.0.0.1", false},
		{"192.0.2.7:8484", "http://localhost:8484", false},
		{"0.0.0.0:8484", "http://192.0.2.7:8484", false},
	}
	for _, tt := range tests {
		base, err := url.Parse(tt.upstream)
		if err != nil {
			t.Fatalf("Parse %q: %v", tt.upstream, err)
		}
		err = noLoop(tt.listen, gateway.Config{Upstreams: []gateway.Upstream{{Name: "own", Base: base}}})
		if (err != nil) != tt.loop {
			t.Errorf("noLoop(%q) with an upstream at %s: %v; want an error: %t", tt.listen, tt.upstream, err, tt.loop)
		}
	}
}

package gateway_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/gateway"
)

func TestCommonCredentials_AreThoseOfTheBreakers(t *testing.T) {
	of, kept := gateway.CommonCredentials()
	u := &url.URL{}
	for i := range 10_000 {
		h := http.Header{"X-Api-Key": {fmt.Sprint("key-", i%5000)}}
		if got, want := of(h, u), breaker.CommonCredential(h, u); got != want {
			t.Fatalf("the name of credential %d: got %q, want %q", i, got, want)
		}
	}
	if n := kept(); n > 4096 {
		t.Errorf("%d names are kept, want at most 4096", n)
	}
}

func BenchmarkCommonCredentials(b *testing.B) {
	of, _ := gateway.CommonCredentials()
	h, u := http.Header{"X-Api-Key": {"sk-ant-api03-0123456789012345678901234567890123456789012345678901234567890123456789"}}, &url.URL{}
	b.ReportAllocs()
	for b.Loop() {
		of(h, u)
	}
}

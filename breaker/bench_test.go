package breaker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
)

// permit is a logical call that is answered at once.
func permit(b testing.TB, g *breaker.Breaker, s breaker.Scope, f *fault.Error) {
	c := g.Caller(s)
	p, err := c.Acquire(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	p.Report(f)
	c.Close()
}

// BenchmarkPass is what a call pays while nothing is wrong.
func BenchmarkPass(b *testing.B) {
	var g breaker.Breaker
	b.ReportAllocs()
	for b.Loop() {
		permit(b, &g, opus, nil)
	}
}

// BenchmarkPassInAFleet is the same while the breaker is joined with others: it tells them nothing.
func BenchmarkPassInAFleet(b *testing.B) {
	var g breaker.Breaker
	g.Join(noNews{b})
	b.ReportAllocs()
	for b.Loop() {
		permit(b, &g, opus, nil)
	}
}

// noNews is a fleet that nothing is to be told.
type noNews struct{ b *testing.B }

func (f noNews) Put(key string, _ []byte) { f.b.Errorf("the fleet is told of %s, want nothing", key) }
func (noNews) ID() string                 { return "m" }
func (noNews) Others() int                { return 9 }

// BenchmarkTwoClocks is a baseline of BenchmarkPass: it looks at the clock once
// when a call enters and once when it leaves.
func BenchmarkTwoClocks(b *testing.B) {
	for b.Loop() {
		_, _ = time.Now(), time.Now()
	}
}

// BenchmarkPassFromAll is the same by as many callers as there are cores.
func BenchmarkPassFromAll(b *testing.B) {
	var g breaker.Breaker
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			permit(b, &g, opus, nil)
		}
	})
}

// BenchmarkPassBesideOthersOutages is the same while other credentials of the
// upstream are out of quota.
func BenchmarkPassBesideOthersOutages(b *testing.B) {
	var g breaker.Breaker
	for i := range 1000 {
		permit(b, &g, breaker.Scope{Model: "opus", Credential: fmt.Sprint(i)}, limited(time.Hour))
	}
	b.ReportAllocs()
	for b.Loop() {
		permit(b, &g, opus, nil)
	}
}

// BenchmarkShare is a call that shares another's fault.
func BenchmarkShare(b *testing.B) {
	var g breaker.Breaker
	permit(b, &g, opus, limited(time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		c := g.Caller(opus)
		if _, err := c.Acquire(context.Background()); err == nil {
			b.Fatal("it went")
		}
		c.Close()
	}
}

// BenchmarkState is what the page of the waits asks every second.
func BenchmarkState(b *testing.B) {
	var g breaker.Breaker
	for i := range 1000 {
		permit(b, &g, breaker.Scope{Model: "opus", Credential: fmt.Sprint(i)}, limited(time.Hour))
	}
	b.ReportAllocs()
	for b.Loop() {
		g.State()
	}
}

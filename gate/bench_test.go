package gate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gate"
)

// pass is a logical call that is answered at once.
func pass(b testing.TB, g *gate.Gate, s gate.Scope, f *fault.Error) {
	c := g.Call(s)
	p, err := c.Enter(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	p.Leave(f)
	c.Close()
}

// BenchmarkPass is what a call pays while nothing is wrong.
func BenchmarkPass(b *testing.B) {
	var g gate.Gate
	b.ReportAllocs()
	for b.Loop() {
		pass(b, &g, opus, nil)
	}
}

// BenchmarkTwoClocks is a baseline of BenchmarkPass: it looks at the clock once
// when a call enters and once when it leaves.
func BenchmarkTwoClocks(b *testing.B) {
	for b.Loop() {
		_, _ = time.Now(), time.Now()
	}
}

// BenchmarkPassFromAll is the same by as many callers as there are cores.
func BenchmarkPassFromAll(b *testing.B) {
	var g gate.Gate
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			pass(b, &g, opus, nil)
		}
	})
}

// BenchmarkPassBesideOthersOutages is the same while other credentials of the
// upstream are out of quota.
func BenchmarkPassBesideOthersOutages(b *testing.B) {
	var g gate.Gate
	for i := range 1000 {
		pass(b, &g, gate.Scope{Model: "opus", Credential: fmt.Sprint(i)}, limited(time.Hour))
	}
	b.ReportAllocs()
	for b.Loop() {
		pass(b, &g, opus, nil)
	}
}

// BenchmarkShare is a call that is told another's fault.
func BenchmarkShare(b *testing.B) {
	var g gate.Gate
	pass(b, &g, opus, limited(time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		c := g.Call(opus)
		if _, err := c.Enter(context.Background()); err == nil {
			b.Fatal("it went")
		}
		c.Close()
	}
}

// BenchmarkState is what the page of the waits asks every second.
func BenchmarkState(b *testing.B) {
	var g gate.Gate
	for i := range 1000 {
		pass(b, &g, gate.Scope{Model: "opus", Credential: fmt.Sprint(i)}, limited(time.Hour))
	}
	b.ReportAllocs()
	for b.Loop() {
		g.State()
	}
}

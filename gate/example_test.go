package gate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gate"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// A gate is kept for as long as its upstream is used; each logical call takes
// its place there.
func ExampleGate() {
	var g gate.Gate
	for range 2 {
		c := g.Call(gate.Scope{Model: "opus", Credential: "team-a"})
		e := retry.Engine{Policy: policy.Simple(), Gate: c}
		answer, err := retry.Do(context.Background(), e, func(context.Context, int) (string, error) {
			return "forty-two", nil
		})
		c.Close()
		fmt.Println(answer, err)
	}
	// Output:
	// forty-two <nil>
	// forty-two <nil>
}

// One call is told to come back in an hour; the next one is told so at once,
// and no request goes out for it.
func ExampleCall_Enter() {
	g, ctx := gate.New("anthropic"), context.Background()
	first := g.Call(gate.Scope{Model: "opus"})
	defer first.Close()
	pass, _ := first.Enter(ctx)
	pass.Leave(&fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: time.Hour})

	second := g.Call(gate.Scope{Model: "opus"})
	defer second.Close()
	_, err := second.Enter(ctx)
	fmt.Println(err)
	for _, o := range g.State().Outages {
		fmt.Println(o.Level, o.Scope.Model, o.Fault)
	}
	// Output:
	// HTTP 429: slow down
	// credential opus HTTP 429: slow down
}

// Somebody looks after the upstream and wants nobody to go there meanwhile.
func ExampleGate_Hold() {
	g, ctx := gate.New("anthropic"), context.Background()
	g.Hold("ada")
	c := g.Call(gate.Scope{})
	defer c.Close()
	c.Blocked = func(why gate.Block) {
		fmt.Println(why, "by", g.State().By)
		g.Resume()
	}
	_, err := c.Enter(ctx)
	fmt.Println(err)
	// Output:
	// held by ada
	// <nil>
}

// Somebody does not want to wait for the five seconds that the policy says.
func ExampleCall_Now() {
	c := gate.New("anthropic").Call(gate.Scope{})
	defer c.Close()
	e := retry.Engine{Policy: policy.Patient(), Gate: c, Watch: func(n retry.Note) {
		if n.Fault != nil {
			time.AfterFunc(10*time.Millisecond, c.Now)
		}
	}}
	answer, err := retry.Do(context.Background(), e, func(_ context.Context, n int) (string, error) {
		if n == 1 {
			return "", &fault.Error{Kind: fault.Overloaded}
		}
		return "forty-two", nil
	})
	fmt.Println(answer, err)
	// Output: forty-two <nil>
}

// One call is to stand back; the others go on.
func ExampleCall_Hold() {
	g := gate.New("anthropic")
	c := g.Call(gate.Scope{})
	defer c.Close()
	c.Hold()
	c.Blocked = func(why gate.Block) {
		fmt.Println(why)
		c.Resume()
	}
	_, err := c.Enter(context.Background())
	fmt.Println(err)
	// Output:
	// held
	// <nil>
}

// Everybody who waits is sent home.
func ExampleGate_GiveUp() {
	g := gate.New("anthropic")
	g.Hold("ada")
	c := g.Call(gate.Scope{})
	defer c.Close()
	c.Blocked = func(gate.Block) { g.GiveUp() }
	_, err := c.Enter(context.Background())
	fmt.Println(err)
	// Output: given up
}

// Somebody has waited long enough: the run ends with what it met last.
func ExampleCall_GiveUp() {
	c := gate.New("anthropic").Call(gate.Scope{})
	defer c.Close()
	e := retry.Engine{Policy: policy.Patient(), Gate: c, Watch: func(retry.Note) { c.GiveUp() }}
	_, err := retry.Do(context.Background(), e, func(context.Context, int) (string, error) {
		return "", &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}
	})
	fmt.Println(err)
	// Output: given up: HTTP 529: Overloaded
}

// Programs that talk to many upstreams keep a Set.
func ExampleSet() {
	var s gate.Set
	s.Of("https://api.anthropic.com").Hold("ada")
	for _, upstream := range []string{"https://api.anthropic.com", "https://api.openai.com"} {
		fmt.Println(upstream, s.Of(upstream).State().By)
	}
	// Output:
	// https://api.anthropic.com ada
	// https://api.openai.com
}

func ExampleSet_States() {
	var s gate.Set
	s.Of("https://api.openai.com")
	s.Of("https://api.anthropic.com").Hold("the operator")
	for _, g := range s.States() {
		fmt.Println(g.Name, g.By)
	}
	// Output:
	// https://api.anthropic.com the operator
	// https://api.openai.com
}

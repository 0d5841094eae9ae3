package breaker_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/breaker"
	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
)

// A breaker is kept for as long as its upstream is used; each logical call takes
// its place there.
func ExampleBreaker() {
	var g breaker.Breaker
	for range 2 {
		c := g.Caller(breaker.Scope{Model: "opus", Credential: "team-a"})
		e := retry.Retrier{Policy: policy.Simple(), Breaker: c}
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

// One call has to come back in an hour; the next one learns so at once,
// and no request goes out for it.
func ExampleCaller_Acquire() {
	g, ctx := breaker.New("anthropic"), context.Background()
	first := g.Caller(breaker.Scope{Model: "opus"})
	defer first.Close()
	pass, _ := first.Acquire(ctx)
	pass.Report(&fault.Error{Kind: fault.RateLimited, Status: 429, Message: "slow down", Wait: time.Hour})

	second := g.Caller(breaker.Scope{Model: "opus"})
	defer second.Close()
	_, err := second.Acquire(ctx)
	fmt.Println(err)
	for _, o := range g.State().Outages {
		fmt.Println(o.Level, o.Scope.Model, o.Fault)
	}
	// Output:
	// HTTP 429: slow down
	// credential opus HTTP 429: slow down
}

// An operator maintains the upstream and wants no calls meanwhile.
func ExampleBreaker_Pause() {
	g, ctx := breaker.New("anthropic"), context.Background()
	g.Pause("ada")
	c := g.Caller(breaker.Scope{})
	defer c.Close()
	c.OnBlock = func(why breaker.BlockReason) {
		fmt.Println(why, "by", g.State().PausedBy)
		g.Resume()
	}
	_, err := c.Acquire(ctx)
	fmt.Println(err)
	// Output:
	// paused by ada
	// <nil>
}

// A new upstream has nothing against it; the first stated wait changes that.
func ExampleBreaker_Degraded() {
	g, ctx := breaker.New("anthropic"), context.Background()
	fmt.Println(g.Degraded())
	c := g.Caller(breaker.Scope{Model: "opus"})
	defer c.Close()
	pass, _ := c.Acquire(ctx)
	pass.Report(&fault.Error{Kind: fault.RateLimited, Wait: time.Hour})
	fmt.Println(g.Degraded())
	// Output:
	// false
	// true
}

// Jobs in a store have waited for the upstream. The first goes alone; two, four
// and eight would follow, had the worker no other reason to stop.
func ExampleBreaker_SlowStart() {
	ctx, stop := context.WithCancel(context.Background())
	breaker.New("anthropic").SlowStart(ctx, func(n int) int {
		fmt.Println("started", n)
		stop()
		return n
	})
	// Output: started 1
}

// The user does not want to wait for an hour: the upstream is asked at once.
func ExampleBreaker_RetryNow() {
	g := breaker.New("anthropic")
	c := g.Caller(breaker.Scope{})
	defer c.Close()
	time.AfterFunc(10*time.Millisecond, g.RetryNow)
	fmt.Println(c.Wait(context.Background(), time.Hour))
	// Output: <nil>
}

// The user does not want to wait for the five seconds of the policy.
func ExampleCaller_RetryNow() {
	c := breaker.New("anthropic").Caller(breaker.Scope{})
	defer c.Close()
	e := retry.Retrier{Policy: policy.Patient(), Breaker: c, OnWait: func(policy.Wait) {
		time.AfterFunc(10*time.Millisecond, c.RetryNow)
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

// One call is to stand back; the others continue.
func ExampleCaller_Pause() {
	g := breaker.New("anthropic")
	c := g.Caller(breaker.Scope{})
	defer c.Close()
	c.Pause()
	c.OnBlock = func(why breaker.BlockReason) {
		fmt.Println(why)
		c.Resume()
	}
	_, err := c.Acquire(context.Background())
	fmt.Println(err)
	// Output:
	// paused
	// <nil>
}

// An operator ends all calls that wait.
func ExampleBreaker_GiveUp() {
	g := breaker.New("anthropic")
	g.Pause("ada")
	c := g.Caller(breaker.Scope{})
	defer c.Close()
	c.OnBlock = func(breaker.BlockReason) { g.GiveUp() }
	_, err := c.Acquire(context.Background())
	fmt.Println(err)
	// Output: given up
}

// The user has waited long enough: the run ends with its last fault.
func ExampleCaller_GiveUp() {
	c := breaker.New("anthropic").Caller(breaker.Scope{})
	defer c.Close()
	e := retry.Retrier{Policy: policy.Patient(), Breaker: c, OnWait: func(policy.Wait) { c.GiveUp() }}
	_, err := retry.Do(context.Background(), e, func(context.Context, int) (string, error) {
		return "", &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}
	})
	fmt.Println(err)
	// Output: given up: HTTP 529: Overloaded
}

// Two requests with the same key are one caller to the upstream, and the name
// does not reveal it.
func ExampleCredential() {
	key := http.Header{"X-Api-Key": {"sk-ant-secret"}}
	u, _ := url.Parse("https://api.anthropic.com/v1/messages")
	name := breaker.Credential(key, u)
	fmt.Println(name == breaker.Credential(key, u), name == breaker.Credential(http.Header{}, u))
	fmt.Println(strings.Contains(name, "secret"))
	// Output:
	// true false
	// false
}

// Programs that talk to many upstreams keep a Set.
func ExampleSet() {
	var s breaker.Set
	s.Of("https://api.anthropic.com").Pause("ada")
	for _, upstream := range []string{"https://api.anthropic.com", "https://api.openai.com"} {
		fmt.Println(upstream, s.Of(upstream).State().PausedBy)
	}
	// Output:
	// https://api.anthropic.com ada
	// https://api.openai.com
}

func ExampleSet_States() {
	var s breaker.Set
	s.Of("https://api.openai.com")
	s.Of("https://api.anthropic.com").Pause("the operator")
	for _, g := range s.States() {
		fmt.Println(g.Name, g.PausedBy)
	}
	// Output:
	// https://api.anthropic.com the operator
	// https://api.openai.com
}

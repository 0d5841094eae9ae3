package ratelimit_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ridethrough/ridethrough/ratelimit"
)

// What an answer states is kept for its key, and says when little is left.
func ExampleTable_Observe() {
	var table ratelimit.Table
	call := &ratelimit.Call{Key: ratelimit.Key{Upstream: "api.openai.com", Model: "gpt-5"}}
	answer := http.Header{
		"X-Ratelimit-Limit-Tokens":     {"450000"},
		"X-Ratelimit-Remaining-Tokens": {"40000"},
		"X-Ratelimit-Reset-Tokens":     {"54.667s"},
	}
	for _, crossed := range table.Observe(call, http.StatusOK, answer) {
		fmt.Printf("%s: %.0f %% of the %s are used, over %.0f %%\n", crossed.Model, 100*crossed.Limit.Used, crossed.Limit.Unit, 100*crossed.Level)
	}
	// Output: gpt-5: 91 % of the tokens are used, over 80 %
}

// prompt is a request of 40,000 bytes, about 10,000 tokens.
type prompt struct{}

func (prompt) Flow() (session string, agent bool) { return "session 1", false }
func (prompt) Bytes() int64                       { return 40000 }
func (prompt) MaxTokens() int64                   { return 1000 }
func (prompt) Waits(p ratelimit.Place)            { fmt.Println("waits:", p) }

// A request waits until there is room for it.
func ExampleTable_Acquire() {
	var table ratelimit.Table
	call := &ratelimit.Call{Key: ratelimit.Key{Upstream: "api.openai.com", Model: "gpt-5"}, Request: prompt{}}
	table.Observe(call, http.StatusOK, http.Header{
		"X-Ratelimit-Limit-Tokens": {"100000000"}, "X-Ratelimit-Remaining-Tokens": {"90000000"},
	})
	if err := table.Acquire(context.Background(), call); err == nil {
		fmt.Println("goes")
	}
	table.Close(call)
	fmt.Println(ratelimit.Place{Ahead: 3, In: 12 * time.Second, Limit: ratelimit.Limit{Unit: ratelimit.Tokens, Limit: 450000, Remaining: 40000}})
	// Output:
	// goes
	// 3 ahead, 40k of 450k tokens/min left, about 12 s
}

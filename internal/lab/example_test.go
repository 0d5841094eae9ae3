package lab_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab"
	"github.com/ridethrough/ridethrough/internal/operation/config"
)

// A quarter of an hour of 503 with a hundred callers, each a call every minute.
func ExampleRun() {
	s := config.Scenario{
		Lasts:    time.Hour,
		Callers:  config.Callers{Number: 100, Every: time.Minute},
		Upstream: config.Service{Takes: 2 * time.Second, Refuses: 100 * time.Millisecond},
		Outages:  []config.Outage{{Kind: config.Total, From: 20 * time.Minute, For: 15 * time.Minute, Status: 503}},
	}
	all, err := lab.Choose([]string{"patient+breaker", "openai-sdk"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := lab.Run(context.Background(), s, all, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, one := range r.Results {
		fmt.Printf("%s: %d of %d answered, %d requests in vain\n", one.Strategy.Name, one.Answered, one.Calls, one.InVain)
	}
	// Output:
	// patient+breaker: 4386 of 4386 answered, 82 requests in vain
	// openai-sdk: 4306 of 5778 answered, 4427 requests in vain
}

package provider_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/provider"
)

// A model of one's own: an API that sends one word a line and "." at the end.
func ExampleStream() {
	busy := false
	house := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if busy {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "too many callers", http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "forty-two\n.\n")
	}))
	defer house.Close()

	client := provider.Observe(house.Client())
	ask := func(ctx context.Context, c *provider.Call) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, house.URL, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status) // the Call has seen the rest
		}
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			switch word := lines.Text(); {
			case word == ".":
				c.End(llm.Stop, "")
			case !c.Yield(llm.Text{Text: word}):
				return nil
			}
		}
		return nil
	}
	for range 2 {
		for part, err := range provider.Stream(context.Background(), llm.Name{Provider: "house"}, classify.Classifier{}, ask) {
			if f, failed := err.(*fault.Error); failed {
				fmt.Println(f, f.Kind, f.Wait)
				break
			}
			fmt.Printf("%T %v\n", part, part)
		}
		busy = true
	}
	// Output:
	// llm.Text {forty-two}
	// llm.End {stop }
	// HTTP 429: too many callers rate-limited 7s
}

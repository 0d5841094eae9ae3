package sdk_test

import (
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

// It is the code of docs/library.md, compiled and not run: the client would ask the real provider.
func Example_transport() {
	client := anthropic.NewClient(option.WithHTTPClient(&http.Client{
		Transport: &transport.Transport{Retry: retry.Retrier{Policy: policy.Patient()}},
	}))
	_ = client
}

package classify_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/fault/classify"
)

func ExampleFromResponse() {
	now := time.Date(2026, time.November, 2, 21, 0, 0, 0, time.UTC)
	header := http.Header{"Retry-After": {"7"}, "Request-Id": {"req_011"}}
	body := `{"type":"error","error":{"type":"rate_limit_error","message":"Too many tokens per minute."}}`
	f := classify.FromResponse(http.StatusTooManyRequests, header, []byte(body), now)
	fmt.Println(f)
	fmt.Println(f.Kind, f.Code, f.RetryAfter(now), f.RequestID)
	// Output:
	// HTTP 429: Too many tokens per minute.
	// rate-limited rate_limit_error 7s req_011
}

func ExampleFromEvent() {
	event := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	f := classify.FromEvent([]byte(event), time.Time{})
	fmt.Println(f.Kind, f.Status, fault.Transient.Has(f.Kind))
	// Output: overloaded 200 true
}

func ExampleOf() {
	err := &url.Error{Op: "Post", URL: "https://api.example.com/v1/messages", Err: io.EOF}
	f := classify.Of(err, time.Now())
	fmt.Println(f.Kind, f.Label(), errors.Is(f, io.EOF))
	// Output: unavailable network true
}

func ExampleBroken() {
	f := classify.Broken(io.ErrUnexpectedEOF, time.Now())
	fmt.Println(f.Kind, f.Kind.Text())
	// Output: truncated stream dropped
}

func ExampleClassifier() {
	// The company's proxy answers 403 while it waits for a seat in its pool.
	// Without the judge that is final.
	seats := func(e classify.Evidence) (classify.Ruling, bool) {
		return classify.Ruling{Kind: fault.Overloaded, Rule: "corp/no seat"}, e.Status == http.StatusForbidden && e.Named("CORP_NO_SEAT")
	}
	c := classify.Classifier{Judges: []classify.Judge{seats}}
	body := []byte(`{"error":{"code":"CORP_NO_SEAT","message":"permission denied"}}`)
	f := c.FromResponse(http.StatusForbidden, nil, body, time.Time{})
	fmt.Println(f.Kind, f.Rule, f.Retryable())
	f = classify.FromResponse(http.StatusForbidden, nil, body, time.Time{})
	fmt.Println(f.Kind, f.Retryable())
	// Output:
	// overloaded corp/no seat true
	// refused false
}

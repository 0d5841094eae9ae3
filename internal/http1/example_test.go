package http1_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ridethrough/ridethrough/internal/http1"
)

// What is plain goes over its own connections, the rest over net/http's.
func ExampleTransport() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "you said %s", body)
	}))
	defer upstream.Close()

	rt := &http1.Transport{Fallback: &http.Transport{DisableCompression: true}}
	defer rt.CloseIdleConnections()
	req, err := http.NewRequest("POST", upstream.URL, strings.NewReader("hello"))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, string(body))
	// Output: 200 OK you said hello
}

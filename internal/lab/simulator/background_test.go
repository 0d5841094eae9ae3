package simulator_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// An answer in the background goes on without its client. It is streamed for five minutes, kept until ten minutes
// after its end, and canceled on request.
func TestBackground_LifeOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := simulator.New(simulator.Script{Answer: "one two three four", Pace: 30 * time.Second, Replies: []simulator.Reply{simulator.Cut{After: 1}}})
		defer p.Close()
		ask := func(method, path, body string) (int, string) {
			req, _ := http.NewRequest(method, "http://provider.test/v1/responses"+path, strings.NewReader(body))
			resp, err := p.Client().Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(text)
		}
		const request = `{"model":"gpt-5","input":"Hi","stream":true,"background":true}`
		_, begun := ask("POST", "", request)
		if strings.Contains(begun, "two") || !strings.Contains(begun, `"background":true`) {
			t.Errorf("the connection that breaks off has %s", begun)
		}
		check := func(path string, status int, has, lacks string) {
			t.Helper()
			code, text := ask("GET", path, "")
			if code != status || !strings.Contains(text, has) || lacks != "" && strings.Contains(text, lacks) {
				t.Errorf("GET %s has the status %d and %s, want %d, %q and no %q", path, code, text, status, has, lacks)
			}
		}
		check("/resp_000001", 200, `"status":"in_progress"`, "")
		check("/resp_000001?stream=true&starting_after=4", 200, `"delta":"two `, `"sequence_number":4,`)
		check("/resp_000001", 200, `"status":"completed"`, "")
		time.Sleep(4 * time.Minute)
		check("/resp_000001?stream=true&starting_after=4", 400, "no longer be streamed", "")
		check("/resp_000001", 200, "one two three four", "")
		time.Sleep(10 * time.Minute)
		check("/resp_000001", 404, "not found", "")
		check("/resp_999999", 404, "not found", "")
		if status, text := ask("POST", "", strings.Replace(request, "{", `{"store":false,`, 1)); status != 400 {
			t.Errorf("an answer in the background that is not stored: %d %s, want 400", status, text)
		}
	})
}

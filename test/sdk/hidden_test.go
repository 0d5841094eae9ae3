package sdk_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// hidden are errors that servers write into answers of status 200 in forms that the SDKs do not read as such. Those of npm
// get the same.
type hidden struct {
	Begins         map[string]string // of a stream, up to some text, by API
	Frames, Wholes []struct{ Form, Text, Says string }
}

func readHidden(t *testing.T) (h hidden) {
	t.Helper()
	text, err := os.ReadFile("../testdata/hidden.json")
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil || len(h.Frames) == 0 || len(h.Wholes) == 0 {
		t.Fatalf("read %d and %d errors, %v; want some", len(h.Frames), len(h.Wholes), err)
	}
	return h
}

// answers returns a fixture whose provider answers everything with these bytes.
func answers(t *testing.T, kind, body string) *fixture {
	w := newFixture(t, simulator.Script{})
	w.base = roundTripper(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
	})
	return w
}

func TestGateway_HiddenErrorIsOneToTheSDK(t *testing.T) {
	h := readHidden(t)
	for api, c := range map[string]call{
		"chat": chatNewStreaming, "responses": responsesNewStreaming, "messages": messagesNewStreaming, "gemini": generateContentStream,
	} {
		for _, e := range h.Frames {
			for at, begin := range map[string]string{"first": "", "after a text": h.Begins[api]} {
				for end, last := range map[string]string{"": "", ", and a terminator": "data: [DONE]\n\n"} {
					t.Run(c.name+"/"+e.Form+"/"+at+end, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							w := answers(t, "text/event-stream", begin+e.Text+last)
							got, err := c.ask(t.Context(), w.gateway(policy.Simple()))
							if err == nil || got.Stop != "" || begin == "" && got.Text != "" {
								t.Errorf("answer %+v, error %v; the SDK was sent %q, want an error", got, err, w.raw.String())
							}
						})
					})
				}
			}
		}
	}
}

func TestGateway_HiddenErrorOfAWholeAnswerIsOneToTheSDK(t *testing.T) {
	for _, c := range []call{chatNew, responsesNew, messagesNew, generateContent} {
		for _, e := range readHidden(t).Wholes {
			t.Run(c.name+"/"+e.Form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := answers(t, "application/json", e.Text)
					if got, err := c.ask(t.Context(), w.gateway(policy.Simple())); err == nil || got != (answer{}) {
						t.Errorf("answer %+v, error %v; the SDK was sent %q, want an error", got, err, w.raw.String())
					}
				})
			})
		}
	}
}

package llmtest

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ridethrough/ridethrough/llm"
)

// ownKey is a key that nothing marks as one.
const ownKey = "plain-word-of-a-team-4711"

// echoes tests a provider that repeats the key that it was sent: it is in no error, and in no answer.
func (s Suite) echoes(t *testing.T) {
	echoing := s
	echoing.Open = func(p Place) llm.Model {
		p.Key, p.Client = ownKey, &http.Client{Transport: echo{p.Client.Transport}}
		return s.Open(p)
	}
	for _, reply := range []string{"529", "error-200", "error-first", "role-error", "cut:2:error", `say:"overloaded"`, `think:"overloaded"+call:f{"a":"overloaded"}`} {
		echoing.each(t, reply, reply, func(r *room) {
			q := using(thinking())
			h := r.ask(r.Context(), q)
			if said := fmt.Sprintf("%+v %s", h.err, h.parts); strings.Contains(said, ownKey) || !strings.Contains(said, strings.Repeat("*", len(ownKey))) {
				r.Errorf("%s: got %s, want asterisks in place of the key", reply, said)
			}
		})
	}
}

// echo puts the key into responses.
type echo struct{ http.RoundTripper }

func (e echo) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := e.RoundTripper.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	text, err := io.ReadAll(resp.Body)
	echoed := strings.NewReplacer("loaded", "loaded "+ownKey, "server busy", "server busy "+ownKey).Replace(string(text))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(echoed), iotest.ErrReader(cmp.Or(err, io.EOF))), resp.Body}
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, nil
}

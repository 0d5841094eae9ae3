package npm_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/api/registry"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

// held answers as a gateway does that has held its client for many minutes:
// with each sign of life a dozen times, and then what next does.
func held(t *testing.T, next func(d *api.API, f api.Form, w http.ResponseWriter, r *http.Request)) *httptest.Server {
	server := listening(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		d := registry.Of(r.Method, r.URL.Path)
		if err != nil || d == nil {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
			return
		}
		asked := d.Read(r.URL, body)
		client := api.Client{
			Agent: r.UserAgent(), Originator: r.Header.Get("Originator"), Library: r.Header.Get("X-Goog-Api-Client"), Model: asked.Model,
		}
		w.Header().Set("Content-Type", asked.Form.ContentType())
		for range 12 {
			for _, sign := range [][]byte{d.Ping(asked.Form, client, "ridethrough retry 3 in 52s overloaded"), d.Heartbeat(asked.Form, client)} {
				_, _ = w.Write(sign)
				_ = http.NewResponseController(w).Flush()
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next(d, asked.Form, w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestSDK_AcceptsKeepalives(t *testing.T) {
	provider := simulator.New(simulator.Script{})
	for _, c := range slices.Concat(calls, bedrockCalls) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, server := sdks(t), held(t, func(_ *api.API, _ api.Form, w http.ResponseWriter, r *http.Request) {
				late := httptest.NewRecorder()
				provider.ServeHTTP(late, r)
				_, _ = w.Write(late.Body.Bytes())
			})
			done, _ := n.call(t, c.name, server.URL, false)
			if got := within(t, done, "a result"); got.Error != "" || got.Text != answer || got.Stop != c.stop {
				t.Errorf("call result %+v", got)
			}
		})
	}
}

func TestSDK_ReadsErrorAfterKeepalives(t *testing.T) {
	for _, c := range slices.Concat(calls, bedrockCalls) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, server := sdks(t), held(t, func(d *api.API, f api.Form, w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(d.ErrorEvent(f, &fault.Error{Kind: fault.Overloaded}, "ridethrough: gave up", false))
				_ = http.NewResponseController(w).Flush()
				if d.Aborts(f) {
					panic(http.ErrAbortHandler)
				}
			})
			done, _ := n.call(t, c.name, server.URL, false)
			if got := within(t, done, "a result"); got.Error == "" || got.Text+got.Stop != "" {
				t.Errorf("call result %+v", got)
			}
		})
	}
}

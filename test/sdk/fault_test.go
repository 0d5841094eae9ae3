package sdk_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/internal/lab/simulator"
	"github.com/ridethrough/ridethrough/policy"
)

// faults are the replies before an answer, and how often and how long Patient
// then tries.
var faults = []struct {
	replies string
	tries   int
	took    time.Duration
}{
	{"ok", 1, 0},
	{"429;retry-after=7", 2, 7 * time.Second},
	{"529", 2, 5 * time.Second},
	{"503", 2, 5 * time.Second},
	{"reset", 2, 5 * time.Second},
	{"refused", 2, 5 * time.Second},
	{"error-first", 2, 5 * time.Second},
	{"role-error", 2, 5 * time.Second},
	{"error-200", 2, 5 * time.Second},
	{"cut:0", 2, 5 * time.Second},
	{"cut:0:clean", 2, 5 * time.Second},
	{"html", 2, 5 * time.Second},
	{"empty", 2, 5 * time.Second},
	{"silence", 2, 65 * time.Second},
	{"drip:10m", 2, 65 * time.Second}, // opens, and falls silent
	{"529, reset, cut:0, html", 5, 105 * time.Second},
}

func TestSDK_FaultBeforeContentIsHidden(t *testing.T) {
	for _, way := range ways {
		for _, c := range calls {
			for _, tt := range faults {
				t.Run(way.name+"/"+c.name+"/"+tt.replies, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						want := healthy(t.Context(), t, c)
						w := newFixture(t, script(t, tt.replies))
						got, err := c.ask(t.Context(), way.to(w, policy.Patient()))
						if err != nil || got.anonymous() != want || got.ID == "" {
							t.Errorf("answer %+v, error %v", got, err)
						}
						w.check(tt.tries, tt.took)
					})
				})
			}
		}
	}
}

func TestGateway_StreamBrokenAfterContentIsAnError(t *testing.T) {
	for _, c := range streams {
		for _, cut := range []string{"cut:1", "cut:3", "cut:3:clean", "cut:99", "cut:99:clean"} {
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					want := healthy(t.Context(), t, c)
					w := newFixture(t, script(t, cut))
					got, err := c.ask(t.Context(), w.gateway(policy.Patient()))
					body := reasonOf(err).Body
					if !strings.Contains(body, c.busy) || !strings.Contains(body, "broke off") {
						t.Errorf("error %v", err)
					}
					if got.Stop != "" || got.Text == "" || !strings.HasPrefix(want.Text, got.Text) {
						t.Errorf("call result %+v", got)
					}
					w.check(1, 0)
				})
			})
		}
	}
}

func TestTransport_BrokenStreamIsAnError(t *testing.T) {
	for _, c := range streams {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newFixture(t, script(t, cut))
					got, err := c.ask(t.Context(), w.transport(policy.Patient()))
					f, ours := errors.AsType[*fault.Error](err) // Ollama's has only the words
					if err == nil || ours && f.Kind != fault.Truncated || !ours && !c.swallows || got.Stop != "" {
						t.Errorf("answer %+v, error %v", got, err)
					}
					w.check(1, 0)
				})
			})
		}
	}
}

func TestSDK_BrokenUnstreamedAnswerIsRetried(t *testing.T) {
	for _, c := range wholes {
		for _, cut := range []string{"cut:3", "cut:3:clean"} {
			t.Run(c.name+"/"+cut, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					want := healthy(t.Context(), t, c)
					w := newFixture(t, script(t, cut))
					got, err := c.ask(t.Context(), w.gateway(policy.Patient()))
					if err != nil || got.anonymous() != want {
						t.Errorf("answer %+v, error %v", got, err)
					}
					w.check(2, 5*time.Second)
				})
			})
		}
	}
}

func TestTransport_StreamInOneRead(t *testing.T) {
	for _, way := range ways {
		for _, c := range streams {
			t.Run(way.name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newFixture(t, simulator.Script{Answer: "One two three."})
					w.base = inOneRead(w.base)
					got, err := c.ask(t.Context(), way.to(w, policy.Patient()))
					if err != nil || got.Text != "One two three." || got.Stop == "" || got.Out != 3 {
						t.Errorf("answer %+v, error %v", got, err)
					}
				})
			})
		}
	}
}

// inOneRead returns bodies whose one read brings allUpstreams and io.EOF, as a
// short answer over a socket may.
func inOneRead(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		all, err := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(&atOnce{all})
		return resp, err
	})
}

// atOnce reads its bytes, and io.EOF with the last of them.
type atOnce struct{ left []byte }

func (a *atOnce) Read(p []byte) (int, error) {
	n := copy(p, a.left)
	if a.left = a.left[n:]; len(a.left) > 0 {
		return n, nil
	}
	return n, io.EOF
}

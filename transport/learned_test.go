package transport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

const fixed = 10 * time.Minute

// never is the time of a try that is not answered.
const never = 1000 * time.Hour

// draw returns the time to the first content of an answer.
type draw func(*rand.Rand) time.Duration

func logNormal(median time.Duration, sigma float64) draw {
	return func(r *rand.Rand) time.Duration {
		return time.Duration(float64(median) * math.Exp(sigma*r.NormFloat64()))
	}
}

func pareto(least time.Duration, alpha float64) draw {
	return func(r *rand.Rand) time.Duration {
		return time.Duration(float64(least) * math.Pow(1-r.Float64(), -1/alpha))
	}
}

// sometimes is one of two times.
func sometimes(share float64, rare, usual draw) draw {
	return func(r *rand.Rand) time.Duration {
		if r.Float64() < share {
			return rare(r)
		}
		return usual(r)
	}
}

func times(n float64, d draw) draw {
	return func(r *rand.Rand) time.Duration { return time.Duration(n * float64(d(r))) }
}

func always(d time.Duration) draw { return func(*rand.Rand) time.Duration { return d } }

// drawn is an upstream whose answers take what is drawn.
type drawn struct {
	mu     sync.Mutex
	random *rand.Rand
	draw
	good, cut, stalled int // tries that would have been answered within the fixed limit, those of them that were cut off, and others
	held               time.Duration
}

func (d *drawn) RoundTrip(req *http.Request) (*http.Response, error) {
	d.mu.Lock()
	took := d.draw(d.random)
	d.mu.Unlock()
	begun := time.Now()
	err := retry.Sleep(req.Context(), took)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case took > fixed:
		d.stalled++
		d.held += time.Since(begun)
	case err != nil:
		d.cut++
		fallthrough
	default:
		d.good++
	}
	if err != nil {
		return nil, err
	}
	return answers(req)
}

// answers returns a whole answer.
func answers(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(start + hi + stop))}, nil
}

// learning sends n requests, some at a time, and returns what came of the tries.
func learning(t *testing.T, l *transport.Learned, d *drawn, n int) (cut float64) {
	t.Helper()
	tr := &transport.Transport{
		Base: d, Learned: l, Limits: transport.Limits{FirstByte: fixed, Idle: 5 * time.Minute},
		Retry: retry.Retrier{Policy: policy.Policy{Retries: 20, Backoff: policy.Backoff{Steps: []time.Duration{time.Second}}}},
	}
	d.good, d.cut, d.stalled, d.held = 0, 0, 0, 0
	const atOnce = 10
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for range n / atOnce {
				resp, err := tr.RoundTrip(post(context.Background()))
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("a request ended with %v, %v", resp, err)
					return
				}
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
	return float64(d.cut) / float64(d.good)
}

// limitOf returns the limit that is learned.
func limitOf(l *transport.Learned) time.Duration { return l.Show()[0].Limit }

func TestLearned_CutsFewerThanOneInAThousandGoodAnswers(t *testing.T) {
	if raced {
		t.Skip("a simulation of many requests; the other tests have some for the detector")
	}
	thinking := sometimes(0.3, logNormal(100*time.Second, 0.6), logNormal(4*time.Second, 0.5))
	for _, tt := range []struct {
		name string
		draw draw
	}{
		{"log-normal", logNormal(3*time.Second, 1)},
		{"log-normal, slow", logNormal(40*time.Second, 0.8)},
		{"heavy tail", pareto(2*time.Second, 1.2)},
		{"two modes", sometimes(0.005, logNormal(5*time.Minute, 0.1), logNormal(2*time.Second, 0.3))},
		{"two modes, one very rare", sometimes(0.0015, always(8*time.Minute), logNormal(2*time.Second, 0.3))},
		{"thinking model", thinking},
		{"stalls beside it", sometimes(0.01, always(never), thinking)},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l transport.Learned
			d := &drawn{random: rand.New(rand.NewPCG(1, 2)), draw: tt.draw}
			if cut := learning(t, &l, d, 20_000); cut >= 0.001 {
				t.Errorf("%s: %d of %d good answers are cut off at a limit of %v, want fewer than one in a thousand", tt.name, d.cut, d.good, limitOf(&l))
			}
			t.Logf("%s: limit %v, cut %d of %d, stalled %d for %v each", tt.name, limitOf(&l), d.cut, d.good, d.stalled, d.held/time.Duration(max(1, d.stalled)))
		})
	}
}

func TestLearned_AdaptsToASlowerUpstreamAndBack(t *testing.T) {
	if raced {
		t.Skip("a simulation of many requests; the other tests have some for the detector")
	}
	usual := logNormal(10*time.Second, 0.7)
	for _, tt := range []struct {
		name   string
		slower draw
	}{
		{"three times", times(3, usual)},
		{"ten times", times(10, usual)},
		{"a part far beyond the limit", sometimes(0.05, always(5*time.Minute), usual)},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l transport.Learned
			d := &drawn{random: rand.New(rand.NewPCG(3, 4)), draw: usual}
			learning(t, &l, d, 10_000)
			before := limitOf(&l)
			d.draw = tt.slower
			learning(t, &l, d, 3_000)
			at := d.cut
			if cut := learning(t, &l, d, 15_000); cut >= 0.001 || limitOf(&l) <= before {
				t.Errorf("%s slower: the limit went from %v to %v; %d of 3000 answers are cut off, then %.2g; want a longer limit and fewer than one in a thousand", tt.name, before, limitOf(&l), at, cut)
			}
			d.draw = usual
			learning(t, &l, d, 10_000)
			if after := limitOf(&l); after > 2*before {
				t.Errorf("%s slower and back: the limit is %v, want about %v as before", tt.name, after, before)
			}
			t.Logf("%s: %v, %d cut of the first 3000", tt.name, before, at)
		})
	}
}

func TestLearned_SilenceBesideAnswersDoesNotLengthenIt(t *testing.T) {
	if raced {
		t.Skip("a simulation of many requests; the other tests have some for the detector")
	}
	synctest.Test(t, func(t *testing.T) {
		var l transport.Learned
		usual := logNormal(3*time.Second, 0.5)
		d := &drawn{random: rand.New(rand.NewPCG(5, 6)), draw: usual}
		learning(t, &l, d, 5_000)
		before := limitOf(&l)
		d.draw = sometimes(0.02, always(never), usual)
		learning(t, &l, d, 20_000)
		if after, each := limitOf(&l), d.held/time.Duration(d.stalled); after != before || each > 2*before {
			t.Errorf("with 2%% of tries that are never answered the limit went from %v to %v, and they took %v each; want the same limit and hardly longer", before, after, each)
		}
	})
}

func TestLearned_TryOfASilentUpstream(t *testing.T) {
	for _, tt := range []struct {
		name, code, message string
		others              bool
		tries               []time.Duration
	}{
		{"no one is answered", fault.Silence, "no first byte in 1m0s, the learned limit", false, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, fixed, time.Minute}},
		{"others are answered", fault.SilentTry, "no first byte in 1m0s, the learned limit, while others were answered", true, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, fixed, time.Minute}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l transport.Learned
			learning(t, &l, &drawn{random: rand.New(rand.NewPCG(7, 8)), draw: always(time.Second)}, 2000)
			var faults []*fault.Error
			var took []time.Duration
			tr := transport.Transport{
				Base: &drawn{draw: always(never)}, Learned: &l, Limits: transport.Limits{FirstByte: fixed},
				Retry: retry.Retrier{Policy: policy.Policy{Retries: 4}, OnTry: func(t retry.Try) {
					faults, took = append(faults, t.Fault), append(took, t.Took)
				}},
			}
			if tt.others {
				time.AfterFunc(30*time.Second, func() {
					learning(t, &l, &drawn{random: rand.New(rand.NewPCG(9, 8)), draw: always(10 * time.Second)}, 1000)
				})
			}
			resp, err := tr.RoundTrip(post(t.Context()))
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			_ = resp.Body.Close()
			time.Sleep(time.Hour) // the others
			for i, f := range faults {
				if i != 3 && f.Code != tt.code || took[i] != tt.tries[i] || i == 0 && f.Message != tt.message {
					t.Errorf("%s: try %d ended after %v with %q %q; want after %v with %q %q", tt.name, i+1, took[i], f.Code, f.Message, tt.tries[i], tt.code, tt.message)
				}
			}
		})
	}
}

// Heartbeats do not hide a silence from what was learned.
func TestLearned_HeartbeatsAreNoContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l transport.Learned
		learning(t, &l, &drawn{random: rand.New(rand.NewPCG(7, 8)), draw: always(time.Second)}, 2000)
		pings := []beat{{0, start}}
		for range 100 {
			pings = append(pings, pinged)
		}
		var took []time.Duration
		said := ""
		tr := transport.Transport{
			Base:    &dawdling{scripts: [][]beat{pings}, kind: "text/event-stream"},
			Learned: &l, Limits: transport.Limits{FirstByte: fixed, WithoutContent: fixed, Idle: time.Minute},
			Retry: retry.Retrier{Policy: policy.Policy{Retries: 4}, OnTry: func(t retry.Try) {
				if took = append(took, t.Took); said == "" {
					said = t.Fault.Message
				}
			}},
		}
		resp, err := tr.RoundTrip(post(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		_ = resp.Body.Close()
		time.Sleep(time.Hour) // the provider's goroutines
		want := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, fixed, time.Minute}
		if !slices.Equal(took, want) || said != "no content in 1m0s, only pings or comments, the learned limit" {
			t.Errorf("tries ended after %v with %q, want %v with the learned limit", took, said, want)
		}
	})
}

func TestLearned_RequestThatIsSlowByItselfIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l transport.Learned
		learning(t, &l, &drawn{random: rand.New(rand.NewPCG(7, 8)), draw: always(time.Second)}, 2000)
		slow := &drawn{draw: always(9 * time.Minute)}
		learning(t, &l, slow, 10) // ten requests at once, and no other
		if slow.cut != 30 || slow.good != 40 {
			t.Errorf("%d of %d tries are cut off, want three of each request and then its answer", slow.cut, slow.good)
		}
	})
}

func TestLearned_ThousandAnswersFirstAndKeptInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l, later transport.Learned
		d := &drawn{random: rand.New(rand.NewPCG(1, 1)), draw: always(50 * time.Second)}
		for _, tt := range []struct {
			n    int
			want time.Duration
		}{{960, 0}, {80, 77 * time.Second}} {
			learning(t, &l, d, tt.n/10*10)
			if got := limitOf(&l); got.Round(10*time.Second) != tt.want.Round(10*time.Second) {
				t.Errorf("after %d more answers the limit is %v, want %v", tt.n, got, tt.want)
			}
		}
		text, err := json.Marshal(&l)
		if err == nil {
			err = json.Unmarshal(text, &later)
		}
		if a, b := l.Show(), later.Show(); err != nil || len(b) != 1 || a[0] != b[0] {
			t.Errorf("read again it is %+v, want %+v; %v", b, a, err)
		}
		if !strings.Contains(string(text), `"host":"api.`) || len(text) > 300 {
			t.Errorf("JSON %s, want a short record of one kind", text)
		}
	})
}

func TestLearned_KindsAreBounded(t *testing.T) {
	var l transport.Learned
	for i := range 2000 {
		if err := json.Unmarshal(fmt.Appendf(nil, `[{"model":"m%d"}]`, i), &l); err != nil {
			t.Fatalf("add kind %d: %v", i, err)
		}
	}
	text, _ := json.Marshal(&l)
	if n := strings.Count(string(text), `"model"`); n != 256 {
		t.Errorf("%d kinds are kept, want 256", n)
	}
}

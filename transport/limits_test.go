package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/transport"
)

var limits = transport.Limits{FirstByte: 5 * time.Minute, WithoutContent: 10 * time.Minute, Idle: time.Minute}

// beat is a part of an answer, and how long the provider takes for it.
type beat struct {
	after time.Duration
	text  string
}

// dawdling answers each try with the next script; it stalls where a script
// ends without an end. Its connections do not heed the request's context, but
// break when they are closed.
type dawdling struct {
	scripts [][]beat
	headers time.Duration // what the headers take
	kind    string
	tries   int
}

// eof ends a script's body.
const eof = "<eof>"

func (d *dawdling) RoundTrip(req *http.Request) (*http.Response, error) {
	script := d.scripts[min(d.tries, len(d.scripts)-1)]
	d.tries++
	select {
	case <-time.After(d.headers):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	r, w := io.Pipe()
	go func() {
		for _, b := range script {
			time.Sleep(b.after)
			if b.text == eof {
				w.Close()
			}
			if _, err := io.WriteString(w, b.text); err != nil {
				return
			}
		}
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {d.kind}}, Body: r}, nil
}

// slowly sends a request to a provider that dawdles.
func slowly(t *testing.T, d *dawdling, l transport.Limits, p policy.Policy, req *http.Request) (resp *http.Response, text string, err error) {
	t.Helper()
	resp, err = (&transport.Transport{Base: d, Limits: l, Retry: retry.Retrier{Policy: p}}).RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp, string(b), err
}

// pinged comes every seven seconds: a ping that comes just when a limit is over lengthens it by a nanosecond.
var pinged = beat{7 * time.Second, ": ping\n\n"}

var whole = []beat{{0, start}, {0, hi}, {0, stop}, {0, eof}}

func TestLimits_SilenceBeforeContentIsRetried(t *testing.T) {
	tests := []struct {
		name   string
		script []beat
		l      transport.Limits
		took   time.Duration // of one silent try
		words  string
	}{
		{"no byte", nil, limits, 5 * time.Minute, "no first byte in 5m0s"},
		{"no byte, idle only", nil, transport.Limits{Idle: time.Minute}, time.Minute, "no byte for 1m0s"},
		{"opening, then silence", []beat{{4 * time.Minute, start}}, limits, 5 * time.Minute, "no byte for 1m0s"},
		{"pings, then silence", []beat{{0, start}, {50 * time.Second, ": ping\n\n"}, {50 * time.Second, ": ping\n\n"}}, limits, 160 * time.Second, "no byte for 1m0s"},
		{"blanks and no end", []beat{{0, "{"}}, limits, 30 * time.Minute, "no content in 30m0s, only pings or comments"},
		{"pings and no end", []beat{{0, start}}, limits, 10 * time.Minute, "no content in 10m0s, only pings or comments"},
	}
	for range 5 * 60 {
		tests[4].script = append(tests[4].script, beat{7 * time.Second, " "})
		tests[5].script = append(tests[5].script, pinged)
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			d := &dawdling{scripts: [][]beat{tt.script, whole}, kind: "text/event-stream"}
			if strings.HasPrefix(tt.name, "blanks") {
				d.kind = "application/json"
			}
			var said []string
			e := retry.Retrier{Policy: policy.Simple(), OnTry: func(t retry.Try) {
				if t.Fault != nil {
					said = append(said, t.Fault.Kind.String()+" "+t.Fault.Message)
				}
			}}
			resp, err := (&transport.Transport{Base: d, Limits: tt.l, Retry: e}).RoundTrip(post(t.Context()))
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if string(text) != start+hi+stop || err != nil || time.Since(begun) != tt.took+time.Second {
				t.Errorf("%s: %q, %v after %v", tt.name, text, err, time.Since(begun))
			}
			if want := fault.Timeout.String() + " " + tt.words; strings.Join(said, ";") != want {
				t.Errorf("%s: told %q, want %q", tt.name, said, want)
			}
			time.Sleep(time.Minute) // the silent provider ends
		})
	}
}

// Pings that have no end are a silence too where a request is sent once.
func TestLimits_ContentIsDueWhereARequestIsSentOnce(t *testing.T) {
	pings := []beat{{0, start[:3]}, {0, start[3:]}}
	for range 5 * 60 {
		pings = append(pings, pinged)
	}
	slow := slices.Concat(pings[:2], []beat{{0, hi}}, pings[2:], []beat{{0, stop}, {0, eof}})
	for _, tt := range []struct {
		name   string
		script []beat
		kind   string
		took   time.Duration
		rule   string
	}{
		{"pings", pings, "text/event-stream", 10 * time.Minute, "transport/only pings"},
		{"pings of another type", pings, "text/plain", 10 * time.Minute, "transport/only pings"},
		{"pings behind content", slow, "text/event-stream", 35 * time.Minute, ""},
		{"not streamed", []beat{{0, "{"}, {59 * time.Second, "  \"id\":"}, {59 * time.Second, "1}"}, {0, eof}}, "application/json", 118 * time.Second, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			d := &dawdling{scripts: [][]beat{tt.script}, kind: tt.kind}
			_, text, err := slowly(t, d, limits, policy.Policy{}, post(t.Context()))
			f, failed := errors.AsType[*fault.Error](err)
			if took := time.Since(begun); took != tt.took || failed != (tt.rule != "") || failed && (f.Rule != tt.rule || f.Kind != fault.Timeout) {
				t.Errorf("%s: %.80q, %v after %v, want %q after %v", tt.name, text, err, took, tt.rule, tt.took)
			}
			time.Sleep(time.Minute) // the provider's goroutine
		})
	}
}

func TestLimits_SilenceAfterContentEndsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		d := &dawdling{scripts: [][]beat{{{0, start}, {0, hi}, {30 * time.Second, hi}}}, kind: "text/event-stream"}
		_, text, err := slowly(t, d, limits, policy.Patient(), post(t.Context()))
		f, _ := errors.AsType[*fault.Error](err)
		if text != start+hi+hi || f == nil || f.Kind != fault.Timeout || f.Rule != "transport/idle" || d.tries != 1 {
			t.Errorf("%q, %v after %d tries", text, err, d.tries)
		}
		if took := time.Since(begun); took != 90*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

// Pings after the first content are not content either, however many come.
func TestLimits_HeartbeatsBehindContentEndTheAnswer(t *testing.T) {
	answer := func(gap int) []beat {
		all := []beat{{0, start}, {0, hi}}
		for range gap {
			all = append(all, pinged)
		}
		return append(all, beat{10 * time.Second, hi}, beat{0, stop}, beat{0, eof})
	}
	for _, tt := range []struct {
		name string
		gap  int // of so many pings
		took time.Duration
		rule string
	}{
		{"nine minutes of pings", 77, 549 * time.Second, ""},
		{"pings and no end", 300, 10 * time.Minute, "transport/only pings"},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			d := &dawdling{scripts: [][]beat{answer(tt.gap)}, kind: "text/event-stream"}
			_, text, err := slowly(t, d, limits, policy.Patient(), post(t.Context()))
			f, failed := errors.AsType[*fault.Error](err)
			if took := time.Since(begun); took != tt.took || failed != (tt.rule != "") || failed && f.Rule != tt.rule {
				t.Errorf("%s: %.80q, %v after %v; want %q after %v", tt.name, text, err, took, tt.rule, tt.took)
			}
			time.Sleep(time.Minute)
		})
	}
}

func TestLimits_FirstByteBoundsTheHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		d := &dawdling{scripts: [][]beat{whole}, headers: time.Hour}
		resp, text, err := slowly(t, d, limits, policy.Policy{Retries: 1, RetryOn: 1 << 31}, post(t.Context()))
		if err != nil || resp.StatusCode != 503 || !strings.Contains(text, "no first byte in 5m0s") || time.Since(begun) != 5*time.Minute {
			t.Errorf("%v %q, %v after %v", resp, text, err, time.Since(begun))
		}
	})
}

func TestLimits_ContentBoundsWhatComesBeforeIt(t *testing.T) {
	tests := []struct {
		name   string
		script []beat
		kind   string
		want   string // the fault; "": the answer
	}{
		{"no byte", nil, "text/event-stream", "no content in 10s"},
		{"pings only", []beat{{0, start}, {9 * time.Second, ": ping\n\n"}, {9 * time.Second, hi}}, "text/event-stream", "no content in 10s"},
		{"content in time, the rest late", []beat{{0, start}, {9 * time.Second, hi}, {20 * time.Second, stop}, {0, eof}}, "text/event-stream", ""},
		{"half of an answer that is not streamed", []beat{{0, `{"type":"message",`}, {11 * time.Second, `"content":[]}`}, {0, eof}}, "application/json", "no content in 10s"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			begun, got := time.Now(), ""
			d := &dawdling{scripts: [][]beat{tt.script}, kind: tt.kind}
			r := retry.Retrier{Policy: policy.Policy{Retries: 1, RetryOn: 1 << 31}, OnTry: func(t retry.Try) {
				if t.Fault != nil {
					got = t.Fault.Message
				}
			}}
			tr := transport.Transport{Base: d, Limits: transport.Limits{Idle: time.Minute, Content: begun.Add(10 * time.Second)}, Retry: r}
			resp, err := tr.RoundTrip(post(t.Context()))
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			took := time.Since(begun)
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if got != tt.want || tt.want == "" && (err != nil || string(text) != start+hi+stop) || tt.want != "" && took != 10*time.Second {
				t.Errorf("%s: fault %q after %v, body %q, %v; want fault %q", tt.name, got, took, text, err, tt.want)
			}
			time.Sleep(time.Minute) // the provider's goroutine
		})
	}
}

func TestLimits_SlowReaderIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dawdling{scripts: [][]beat{{{0, start}, {0, hi}, {0, hi}, {0, stop}, {0, eof}}}, kind: "text/event-stream"}
		resp, err := (&transport.Transport{Base: d, Limits: limits, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		defer resp.Body.Close()
		text := make([]byte, 0, 1<<10)
		for err == nil {
			time.Sleep(time.Hour)
			n := 0
			n, err = resp.Body.Read(text[len(text) : len(text)+len(hi)])
			text = text[:len(text)+n]
		}
		if string(text) != start+hi+hi+stop || err != io.EOF {
			t.Errorf("body: got %q and error %v, want the whole answer", text, err)
		}
	})
}

func TestLimits_SteadyAnswerOutlastsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, want := []beat{{290 * time.Second, start}}, start
		for range 60 {
			script, want = append(script, beat{59 * time.Second, hi}), want+hi
		}
		script, want = append(script, beat{59 * time.Second, stop}, beat{0, eof}), want+stop
		d := &dawdling{scripts: [][]beat{script}, kind: "text/event-stream"}
		_, text, err := slowly(t, d, limits, policy.Patient(), post(t.Context()))
		if text != want || err != nil || d.tries != 1 {
			t.Errorf("%d of %d bytes, %v after %d tries", len(text), len(want), err, d.tries)
		}
	})
}

func TestTransport_OpenedIsCalledBeforeLateContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, told := time.Now(), []time.Duration(nil)
		ping := beat{15 * time.Second, ": ping\n\n"}
		d := &dawdling{scripts: [][]beat{{{time.Second, start}, ping, ping, {0, hi}, {0, stop}, {0, eof}}}, kind: "text/event-stream"}
		tr := &transport.Transport{
			Base: d, Retry: retry.Retrier{Policy: policy.Patient()},
			Opened: func() { told = append(told, time.Since(begun)) },
		}
		resp, err := tr.RoundTrip(post(t.Context()))
		if err != nil || len(told) != 1 || told[0] != time.Second || time.Since(begun) != 31*time.Second {
			t.Fatalf("told after %v, %v", told, err)
		}
		text, err := io.ReadAll(resp.Body)
		if string(text) != start+ping.text+ping.text+hi+stop || err != nil {
			t.Errorf("body: got %q and error %v, want the whole answer with its pings", text, err)
		}
		_ = resp.Body.Close()
	})
}

func TestTransport_OpenedWaitsForAWholeFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, told := time.Now(), []time.Duration(nil)
		script := []beat{{time.Second, start[:20]}, {time.Second, start[20:]}, {time.Second, hi}, {0, stop}, {0, eof}}
		tr := &transport.Transport{
			Base: &dawdling{scripts: [][]beat{script}, kind: "text/event-stream"}, Retry: retry.Retrier{Policy: policy.Patient()},
			Opened: func() { told = append(told, time.Since(begun)) },
		}
		resp, err := tr.RoundTrip(post(t.Context()))
		if err != nil || len(told) != 1 || told[0] != 2*time.Second {
			t.Fatalf("opened after %v, %v; want once, after 2s", told, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	})
}

func TestTransport_FormIsKnownByTheFirstSixBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := []beat{{0, start[:3]}, {time.Second, start[3:]}, {0, hi}, {0, stop}, {0, eof}}
		d := &dawdling{scripts: [][]beat{script}, kind: "application/json"}
		resp, text, err := slowly(t, d, transport.Limits{}, policy.Simple(), post(t.Context()))
		if err != nil || text != start+hi+stop || d.tries != 1 {
			t.Fatalf("%q, %v after %d tries; want the whole stream after one", text, err, d.tries)
		}
		if _, ok := resp.Body.(transport.Watched); !ok {
			t.Errorf("events sent as application/json have a body of type %T, want a watched one", resp.Body)
		}
	})
}

func TestLimits_FirstByteAloneAllowsLaterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dawdling{scripts: [][]beat{{{time.Minute, start}, {20 * time.Minute, hi}, {time.Hour, stop}, {0, eof}}}, kind: "text/event-stream"}
		_, text, err := slowly(t, d, transport.Limits{FirstByte: 5 * time.Minute}, policy.Patient(), post(t.Context()))
		if text != start+hi+stop || err != nil || d.tries != 1 {
			t.Errorf("%q, %v after %d tries; want the whole answer after one", text, err, d.tries)
		}
	})
}

func TestLimits_EndOfAnAnswerEndsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dawdling{scripts: [][]beat{{{0, "{}"}, {0, eof}}}}
		resp, err := (&transport.Transport{Base: d, Limits: limits}).RoundTrip(post(t.Context()))
		if err != nil {
			t.Fatalf("round trip: %v", err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatalf("read: %v", err)
		}
		time.Sleep(time.Hour)
		if n, err := resp.Body.Read(make([]byte, 9)); n != 0 || err != io.EOF {
			t.Errorf("reading an hour after the end: %d bytes, %v; want EOF", n, err)
		}
		_ = resp.Body.Close()
	})
}

// hesitant is a body whose first read returns nothing, and whose second stalls.
type hesitant struct {
	*io.PipeReader
	read bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if !h.read {
		h.read = true
		return 0, nil
	}
	return h.PipeReader.Read(p)
}

func TestLimits_EmptyReadIsNoByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r, _ := io.Pipe()
		base := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: &hesitant{PipeReader: r}}, nil
		})
		once := retry.Retrier{Policy: policy.Policy{Retries: 1, RetryOn: 1 << fault.Auth}}
		resp, err := (&transport.Transport{Base: base, Limits: limits, Retry: once}).RoundTrip(post(t.Context()))
		if took := time.Since(begun); err != nil || resp.StatusCode != 503 || took != 5*time.Minute {
			t.Errorf("%v, %v after %v; want a response of status 503 after 5m", resp, err, took)
		}
	})
}

func TestLimits_HoldWithoutRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, d := range map[string]*dawdling{
			"headers": {scripts: [][]beat{nil}, headers: time.Hour},
			"body":    {scripts: [][]beat{{{0, "{"}}}, headers: time.Minute},
		} {
			_, _, err := slowly(t, d, limits, policy.Policy{}, post(t.Context()))
			if f, _ := errors.AsType[*fault.Error](err); f == nil || f.Kind != fault.Timeout || d.tries != 1 {
				t.Errorf("%s: %v after %d tries", name, err, d.tries)
			}
		}
	})
}

func TestLimits_UnreadBodyWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list, _ := http.NewRequestWithContext(t.Context(), "GET", "http://api.test/v1/models", nil)
		for _, p := range []policy.Policy{policy.Simple(), {}} {
			d := &dawdling{scripts: [][]beat{{{0, "{}"}, {0, eof}}}}
			resp, err := (&transport.Transport{Base: d, Limits: limits, Retry: retry.Retrier{Policy: p}}).RoundTrip(list)
			if err != nil {
				t.Fatalf("round trip: %v", err)
			}
			time.Sleep(time.Hour)
			if text, err := io.ReadAll(resp.Body); string(text) != "{}" || err != nil {
				t.Errorf("body: got %q and error %v, want {}", text, err)
			}
			_ = resp.Body.Close()
		}
	})
}

func TestLimits_ClosedAnswerLeavesNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble fails the test if a timer or goroutine stays behind
		var sent context.Context
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			sent = req.Context()
			return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
		})
		resp, err := (&transport.Transport{Base: base, Limits: limits, Retry: retry.Retrier{Policy: policy.Simple()}}).RoundTrip(post(t.Context()))
		if err != nil || sent.Err() == nil {
			t.Errorf("%v, %v: the request without a body is not released", resp, err)
		}
	})
}

func TestLimits_SwitchedConnectionIsUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 101, Body: both{}}, nil
		})
		for _, p := range []policy.Policy{policy.Simple(), {}} {
			get, _ := http.NewRequestWithContext(t.Context(), "GET", "http://api.test/v1/realtime", nil)
			resp, err := (&transport.Transport{Base: base, Limits: limits, Retry: retry.Retrier{Policy: p}}).RoundTrip(get)
			if _, ok := resp.Body.(io.Writer); !ok || err != nil {
				t.Errorf("body of an upgrade: got %T and error %v, want an io.Writer", resp.Body, err)
			}
		}
	})
}

type both struct{ io.ReadWriter }

func (both) Close() error { return nil }

func TestTransport_ReasonThatDoesNotArriveIsNotFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		stalls := roundTrip(func(*http.Request) (*http.Response, error) {
			if tries++; tries > 1 {
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(start + hi + stop))}, nil
			}
			r, w := io.Pipe()
			go func() { _, _ = io.WriteString(w, `{"error":{"mess`) }()
			return &http.Response{StatusCode: 400, Body: r}, nil
		})
		resp, err := (&transport.Transport{Base: stalls, Limits: limits, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
		if err != nil || resp.StatusCode != 200 || tries != 2 {
			t.Fatalf("a 400 that never says why: %v, %v after %d tries, want a 200 after 2", resp, err, tries)
		}
		_ = resp.Body.Close()
	})
}

func TestTransport_SlowErrorIsNamedByItsStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		trickles := roundTrip(func(*http.Request) (*http.Response, error) {
			r, w := io.Pipe()
			go func() {
				for _, err := io.WriteString(w, "x"); err == nil; _, err = io.WriteString(w, "x") {
					time.Sleep(9 * time.Second)
				}
			}()
			return &http.Response{StatusCode: 401, Body: r}, nil
		})
		resp, err := (&transport.Transport{Base: trickles, Limits: limits, Retry: retry.Retrier{Policy: policy.Patient()}}).RoundTrip(post(t.Context()))
		if err != nil || resp.StatusCode != 401 || time.Since(begun) > 10*time.Second {
			t.Errorf("%v, %v after %v", resp, err, time.Since(begun))
		}
		if n, _ := resp.Body.Read(make([]byte, 9)); n != 2 {
			t.Errorf("%d bytes of the error are left", n)
		}
		_ = resp.Body.Close()
		time.Sleep(time.Minute) // for the provider to notice
	})
}

func TestTransport_DeadlineEndsAnHTTPTransportsDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		base := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return nil, errors.New("no connection")
		}}
		e := retry.Retrier{Policy: policy.Council(time.Minute)}
		resp, err := (&transport.Transport{Base: base, Retry: e}).RoundTrip(post(t.Context()))
		if took := time.Since(begun); err != nil || resp.StatusCode != 503 || took != time.Minute {
			t.Errorf("%v, %v after %v; want a response of status 503 after 1m", resp, err, took)
		}
		time.Sleep(2 * time.Hour) // for the dial to end
	})
}

func TestTransport_DialTimeoutIsTheUpstreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kinds []fault.Kind
		e := retry.Retrier{Policy: policy.Simple(), OnTry: func(t retry.Try) { kinds = append(kinds, t.Fault.Kind) }}
		base := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded} // as net.Dialer says it
		}}
		resp, err := (&transport.Transport{Base: base, Limits: limits, Retry: e}).RoundTrip(post(t.Context()))
		if err != nil || resp.StatusCode != 503 || len(kinds) != 4 || kinds[0] != fault.UpstreamTimeout {
			t.Errorf("RoundTrip: got %v, error %v and faults %v, want status 503 after four timeouts of the upstream", resp, err, kinds)
		}
	})
}

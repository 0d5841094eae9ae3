package history_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/api"
	"github.com/ridethrough/ridethrough/internal/operation/history"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/turn"
)

// ended reports the end of a request that had failed with a fault; nil: it had not.
func (w *world) ended(c gateway.Call, f *fault.Error, stop policy.Stop, e gateway.Event) {
	if f != nil {
		failed := turn.NewError(f, 0, 0)
		failed.Stop = stop
		w.Watch(&gateway.Event{At: time.Now(), Call: c, Event: failed})
	}
	e.At, e.Call = time.Now(), c
	w.Watch(&e)
}

func TestRequests_SayHowTheyEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		call := w.call(1, "m")
		call.Began = time.Now()
		time.Sleep(time.Minute)
		sealed := func(s turn.Status, retries int) turn.Sealed {
			return turn.Sealed{Status: s, Metrics: turn.Metrics{RetryCount: retries, TotalRetryDelay: time.Duration(retries) * time.Second}}
		}
		for _, c := range []struct {
			fault *fault.Error
			stop  policy.Stop
			end   gateway.Event
			want  history.Request
		}{
			{end: gateway.Event{Event: sealed(turn.Done, 0), Status: 200}, want: history.Request{Tries: 1, Outcome: history.Answered, Status: 200}},
			{
				end:  gateway.Event{Event: sealed(turn.Done, 3), Status: 200, Used: ratelimit.Charged{Input: 10, Cached: 5, Output: 7}},
				want: history.Request{Tries: 4, WaitedMs: 3000, Outcome: history.Answered, Status: 200, InputTokens: 15, OutputTokens: 7},
			},
			{
				end:  gateway.Event{Event: sealed(turn.Done, 0), Status: 200, Note: api.PromptCut},
				want: history.Request{Tries: 1, Outcome: history.Answered, Cause: api.PromptCut.Words(), Status: 200},
			},
			{
				fault: busy, stop: policy.Exhausted, end: gateway.Event{Event: sealed(turn.Failed, 2), Status: 529},
				want: history.Request{Tries: 3, WaitedMs: 2000, Outcome: history.Failed, Cause: "server overloaded", Status: 529},
			},
			{
				fault: &fault.Error{Kind: fault.Truncated}, stop: policy.Committed, end: gateway.Event{Event: sealed(turn.Failed, 0), Status: 200},
				want: history.Request{Tries: 1, Outcome: history.BrokeOff, Cause: "stream dropped", Status: 200},
			},
			{
				fault: &fault.Error{Kind: fault.Canceled, Err: busy}, end: gateway.Event{Event: sealed(turn.Aborted, 1)},
				want: history.Request{Tries: 2, WaitedMs: 1000, Outcome: history.Left},
			},
			{end: gateway.Event{Event: sealed(turn.Failed, 0), Status: 400}, want: history.Request{Tries: 1, Outcome: history.Failed, Status: 400}}, // the error is told of another that it joined
		} {
			w.ended(call, c.fault, c.stop, c.end)
			got, all := w.Requests(history.Query{Limit: 1})
			c.want.ID, c.want.Began, c.want.TookMs = 1, call.Began.UTC(), 60_000
			c.want.Client, c.want.Session, c.want.Upstream, c.want.Model = "claude-cli/2.1.329", "s1", "work", "m"
			if len(got) != 1 || all == 0 || got[0] != c.want {
				t.Errorf("%v: got %+v, want %+v", c.end, got, c.want)
			}
		}
	})
}

func TestRequests_AreTheLatest(t *testing.T) {
	w := newWorld(t, "")
	for id := int64(1); id <= history.RequestBound+10; id++ {
		w.ended(w.call(id, "m"), nil, "", gateway.Event{Event: turn.Sealed{Status: turn.Done}})
		if got, all := w.Requests(history.Query{Limit: 1}); got[0].ID != id || all != int(min(id, history.RequestBound)) {
			t.Fatalf("after request %d: got %d of %d first", id, got[0].ID, all)
		}
	}
	got, all := w.Requests(history.Query{Limit: 5000})
	if len(got) != history.RequestBound || all != history.RequestBound || got[len(got)-1].ID != 11 {
		t.Errorf("got %d of %d requests, the oldest %d; want %d, the oldest 11", len(got), all, got[len(got)-1].ID, history.RequestBound)
	}
}

func TestRequests_AreFiltered(t *testing.T) {
	w := newWorld(t, "")
	for i, of := range []struct{ client, model, upstream string }{
		{"claude-cli/2.1.329", "claude-opus-4-5", "anthropic"}, {"codex_cli_rs/0.169.0", "gpt-5", "openai"}, {"", "gpt-5", "spare"},
	} {
		c := gateway.Call{ID: int64(i + 1), Client: of.client, Model: of.model, Upstream: of.upstream, Session: fmt.Sprint("Session-", i)}
		w.ended(c, nil, "", gateway.Event{Event: turn.Sealed{Status: turn.Done}})
	}
	w.ended(gateway.Call{ID: 17, Upstream: "anthropic"}, busy, policy.Exhausted, gateway.Event{Event: turn.Sealed{Status: turn.Failed}})
	for _, c := range []struct {
		query history.Query
		want  string
	}{
		{history.Query{}, "17 3 2 1"},
		{history.Query{Upstream: "anthropic"}, "17 1"},
		{history.Query{Outcome: history.Failed}, "17"},
		{history.Query{Client: "CLAUDE"}, "1"},
		{history.Query{Client: "cli"}, ""},
		{history.Query{Text: "GPT"}, "3 2"},
		{history.Query{Text: "session-1"}, "2"},
		{history.Query{Text: "overloaded"}, "17"},
		{history.Query{Text: "gpt", Upstream: "spare"}, "3"},
		{history.Query{Text: "nothing"}, ""},
	} {
		c.query.Limit = 10
		var ids []string
		got, all := w.Requests(c.query)
		for _, r := range got {
			ids = append(ids, fmt.Sprint(r.ID))
		}
		if strings.Join(ids, " ") != c.want || all != len(got) {
			t.Errorf("%+v: got %v of %d, want %s", c.query, ids, all, c.want)
		}
	}
}

// What a client sends as a name is bounded.
func TestRequests_NamesAreBounded(t *testing.T) {
	w := newWorld(t, "")
	long := strings.Repeat("x", 5000)
	w.ended(gateway.Call{ID: 1, Model: long}, nil, "", gateway.Event{Event: turn.Sealed{Status: turn.Done}})
	if got, _ := w.Requests(history.Query{Limit: 1}); len(got[0].Model) != 128 {
		t.Errorf("a model's name of %d bytes: got %d, want 128", len(long), len(got[0].Model))
	}
}

func TestRequests_TurnsAreAmongThem(t *testing.T) {
	w := newWorld(t, "")
	at := time.Now()
	w.WatchTurn(gateway.Event{
		At: at, Call: gateway.Call{ID: -1, Face: "conversation", Turn: "t1", Session: "c1", Upstream: "acme", Model: "large"},
		Event: turn.Sealed{Status: turn.Done, Metrics: turn.Metrics{Duration: time.Minute, InputTokens: 3, OutputTokens: 4}},
	}, false)
	want := history.Request{
		Turn: "t1", Began: at.Add(-time.Minute).UTC().Truncate(time.Millisecond), TookMs: 60_000, Client: "conversation", Session: "c1", Upstream: "acme", Model: "large",
		Tries: 1, Outcome: history.Answered, InputTokens: 3, OutputTokens: 4,
	}
	if got, _ := w.Requests(history.Query{Limit: 1}); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// With a file, the requests of earlier processes are among the latest, within the same bounds.
func TestRequests_OutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.json")
	all := func(w *world) []history.Request {
		got, _ := w.Requests(history.Query{Limit: 5000})
		return got
	}
	w := newWorld(t, path)
	for id := int64(1); id <= history.RequestBound+10; id++ { // the oldest are in the middle of what is kept
		c := w.call(id, "m")
		c.Began = time.Now()
		w.ended(c, busy, policy.Exhausted, gateway.Event{Event: turn.Sealed{Status: turn.Failed, Metrics: turn.Metrics{RetryCount: 2}}, Status: 529})
	}
	before := all(w)
	w.keep()

	next := newWorld(t, path)
	if diff := cmp.Diff(before, all(next)); diff != "" {
		t.Errorf("after a restart (-before +after)\n%s", diff)
	}
	next.ended(next.call(1, "later"), nil, "", gateway.Event{Event: turn.Sealed{Status: turn.Done}})
	got := all(next)
	if len(got) != history.RequestBound || got[0].Model != "later" || got[1].ID != before[0].ID || got[len(got)-1].ID != 12 {
		t.Errorf("after another: got %d, the newest of %s, the oldest %d; want %d, of later, 12", len(got), got[0].Model, got[len(got)-1].ID, history.RequestBound)
	}
}

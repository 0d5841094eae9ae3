package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/fault"
	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
	"github.com/ridethrough/ridethrough/internal/server/live"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/ratelimit"
	"github.com/ridethrough/ridethrough/retry"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

var busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}

// retrying is the event of a call's try that failed and is followed by another.
func retrying(id int64, tries int, wait time.Duration) gateway.Event {
	return happens(id, turn.Retry{Name: claude, Upstream: "work", Wait: policy.Wait{
		Run: policy.Run{Tries: tries}, Fault: busy, Verdict: policy.Verdict{Wait: wait}, Due: time.Now().Add(wait), Limit: 10, Waited: time.Duration(tries-1) * time.Minute,
	}})
}

var claude = llm.Name{Provider: "anthropic", Model: "claude"}

func caller(id int64) gateway.Call {
	return gateway.Call{ID: id, Session: "s-1", API: "anthropic", Upstream: "work", Model: "claude"}
}

// happens is an event of a call.
func happens(id int64, e turn.Event) gateway.Event {
	return gateway.Event{At: time.Now(), Call: caller(id), Event: e}
}

// tried is a try of a call that has passed.
func tried(id int64) gateway.Event {
	return gateway.Event{At: time.Now(), Call: caller(id), Try: retry.Try{N: 1}}
}

// fails is the end of a call whose tries have failed.
func fails(id int64, f *fault.Error, stop policy.Stop, retries int) gateway.Event {
	e := turn.NewError(f, retries, 22*time.Second)
	e.Stop = stop
	return happens(id, e)
}

var (
	sealed = turn.Sealed{Status: turn.Done}
	left   = &fault.Error{Kind: fault.Canceled, Message: "the client has left"}
)

// bodies reads events as the public does.
func bodies(t *testing.T, all []event) (read []wire.Event) {
	t.Helper()
	for _, e := range all {
		if e.comment != "" {
			continue
		}
		var w wire.Event
		if err := json.Unmarshal([]byte(e.data), &w); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		if wire.Type(w.Body) != e.name || e.id != "" && !strings.HasSuffix(e.id, fmt.Sprintf("-%d", w.Seq)) {
			t.Errorf("%+v says it is %+v", e, w)
		}
		read = append(read, w)
	}
	return read
}

// describeAll describes events.
func describeAll(all []wire.Event) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%d ", e.Seq)
		if reset, ok := e.Body.(wire.Reset); ok {
			fmt.Fprintf(&b, "reset %s; ", reset.Reason)
			continue
		}
		switch e := e.Body.(wire.Turn).Event.(type) {
		case turn.Retry:
			fmt.Fprintf(&b, "retry %d in %d", e.Retry()-1, e.Verdict.Wait.Milliseconds())
		case turn.Waiting:
			fmt.Fprintf(&b, "waiting %d", e.Remaining.Milliseconds())
		case turn.Recovered:
			fmt.Fprintf(&b, "recovered after %d", e.Retries)
		case turn.Switched:
			fmt.Fprintf(&b, "from %s to %s: %s", e.From, e.To, e.Why)
		case turn.Error:
			fmt.Fprintf(&b, "error %s after %d", e.Kind, e.Retries)
		}
		b.WriteString("; ")
	}
	return b.String()
}

func TestFeed_PublishesCourseOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		r := run(t, server.Config{Gateway: &fake{}, Feed: f}).read("/-/events")
		defer r.close()
		for _, e := range []gateway.Event{
			happens(1, turn.Start{}), tried(1), happens(1, sealed),
			retrying(2, 1, 5*time.Second), tried(2), retrying(2, 2, 10*time.Second),
			happens(2, turn.Switched{From: "first", To: "work", Why: busy.Redacted()}),
			happens(2, turn.Recovered{Retries: 2, Waited: 15 * time.Second}), happens(2, sealed),
			retrying(3, 1, time.Second), fails(3, busy, policy.Exhausted, 2), happens(3, sealed),
			fails(4, &fault.Error{Kind: fault.Truncated}, policy.Committed, 0), happens(4, sealed),
			retrying(5, 1, time.Second), fails(5, left, "", 0), happens(5, sealed),
			retrying(6, 1, time.Second), fails(6, busy, "", 0), happens(6, sealed), // the gateway is closed
			fails(7, left, "", 0), happens(8, turn.Recovered{}), // before a try has failed
		} {
			f.Watch(&e)
		}
		want := "1 retry 0 in 5000; 2 retry 1 in 10000; 3 from first to work: HTTP 529: Overloaded; 4 recovered after 2; " +
			"5 retry 0 in 1000; 6 error overloaded after 2; 7 error truncated after 0; " +
			"8 retry 0 in 1000; 9 error canceled after 0; 10 retry 0 in 1000; 11 error overloaded after 0; "
		all := bodies(t, r.seen())
		if got := describeAll(all); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		first := all[0].Body.(wire.Turn)
		if want := (wire.Ref{ConversationID: "s-1", TurnID: "2"}); first.Ref != want {
			t.Errorf("retry is about %+v, want %+v", first.Ref, want)
		}
		if r := first.Event.(turn.Retry); r.Provider != "anthropic" || r.Model != "claude" || r.Upstream != "work" {
			t.Errorf("retry is of %s at %q, want anthropic/claude at work", r.Name, r.Upstream)
		}
	})
}

func TestFeed_PublishesThatALimitIsNearlyUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		r := run(t, server.Config{Gateway: &fake{}, Feed: f}).read("/-/events")
		defer r.close()
		at := time.Now().Add(time.Minute).UTC()
		of := ratelimit.Key{Upstream: "work", Credential: "3w5e11264sgsf", Model: "claude"}
		e := tried(1)
		e.Crossed = &ratelimit.Crossing{Key: of, Level: 0.95, Limit: ratelimit.Limit{Name: "input-tokens", Used: 0.967, Reset: at}}
		f.Watch(&e)
		want := wire.LimitUsed{Upstream: "work", Credential: "3w5e1…", Model: "claude", Limit: "input-tokens", Level: 95, Used: 96, ResetAt: at}
		if all := bodies(t, r.seen()); len(all) != 1 || all[0].Body != want {
			t.Errorf("events: got %+v, want one with %+v", all, want)
		}
	})
}

func TestFeed_PublishesWaitsForLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		r := run(t, server.Config{Gateway: &fake{}, Feed: f}).read("/-/events")
		defer r.close()
		e := tried(1)
		e.Queued = &ratelimit.Place{Ahead: 3, In: 12 * time.Second, Limit: ratelimit.Limit{Unit: ratelimit.Tokens, Limit: 450000, Remaining: 40000}}
		f.Watch(&e)
		e.Queued, e.Admitted = nil, 11*time.Second
		f.Watch(&e)
		of := wire.Ref{ConversationID: e.Call.Session, TurnID: "1"}
		want := []wire.Body{
			wire.LimitWaiting{
				Ref: of, Provider: e.Call.API, Model: e.Call.Model, Upstream: e.Call.Upstream, Ahead: 3,
				Limit: "3 ahead, 40k of 450k tokens/min left, about 12 s", Remaining: wire.Millis(12 * time.Second),
			},
			wire.LimitWaited{Ref: of, Provider: e.Call.API, Model: e.Call.Model, Upstream: e.Call.Upstream, Waited: wire.Millis(11 * time.Second)},
		}
		all := bodies(t, r.seen())
		if len(all) != len(want) {
			t.Fatalf("events: got %+v, want %+v", all, want)
		}
		for i := range want {
			if all[i].Body != want[i] {
				t.Errorf("event %d: got %+v, want %+v", i, all[i].Body, want[i])
			}
		}
	})
}

func TestFeed_RemindsOfLongWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		r := run(t, server.Config{Gateway: &fake{}, Feed: f}).read("/-/events")
		defer r.close()
		f.Watch(new(retrying(1, 5, 100*time.Second)))
		f.Watch(new(retrying(2, 1, 30*time.Second)))
		time.Sleep(2 * time.Minute)
		if got, want := describeAll(bodies(t, r.seen())), "1 retry 4 in 100000; 2 retry 0 in 30000; 3 waiting 70000; 4 waiting 40000; 5 waiting 10000; "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		f.Watch(new(retrying(1, 6, time.Hour)))
		time.Sleep(45 * time.Second)
		f.Watch(new(tried(1))) // a client sent "now"
		time.Sleep(time.Hour)
		if got, want := describeAll(bodies(t, r.seen())), "6 retry 5 in 3600000; 7 waiting 3570000; "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestFeed_ReconnectingReaderMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		r := w.read("/-/events")
		f.Watch(new(retrying(1, 1, time.Second)))
		first := r.next()
		r.close()
		for i := range 3 {
			f.Watch(new(retrying(1, i+2, time.Second)))
		}
		r = w.read("/-/events", "Last-Event-ID", first.id)
		defer r.close()
		if got, want := describeAll(bodies(t, r.seen())), "2 retry 1 in 1000; 3 retry 2 in 1000; 4 retry 3 in 1000; "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		f.Watch(new(retrying(1, 5, time.Second)))
		if got := describeAll(bodies(t, r.seen())); got != "5 retry 4 in 1000; " {
			t.Errorf("then live: %s", got)
		}
	})
}

func TestFeed_UnknownIDGetsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		r := w.read("/-/events")
		f.Watch(new(retrying(1, 1, time.Second)))
		boot, _, _ := strings.Cut(r.next().id, "-")
		r.close()
		for id, want := range map[string]string{
			"abcdefgh-1": "restarted", "abcdefgh-999": "restarted", boot + "-2": "unknown", boot + "-x": "unknown",
			boot: "unknown", "7": "unknown", "-1": "unknown", boot + "--1": "unknown", "🦆": "unknown",
		} {
			r := w.read("/-/events", "Last-Event-ID", id)
			if got := describeAll(bodies(t, r.seen())); got != "0 reset "+want+"; 1 retry 0 in 1000; " {
				t.Errorf("%q: %s", id, got)
			}
			r.close()
		}
		for i := range 5000 {
			f.Watch(new(retrying(1, i+2, time.Second)))
		}
		r = w.read("/-/events", "Last-Event-ID", boot+"-1")
		defer r.close()
		all := bodies(t, r.seen())
		if len(all) != 4097 || all[0].Body != (wire.Reset{Reason: "gap"}) || all[0].Seq != 905 || all[1].Seq != 906 || all[4096].Seq != 5001 {
			t.Errorf("%d events: %s", len(all), describeAll(all[:2]))
		}
	})
}

func TestFeed_RemindersEvictNoOtherEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		r := w.read("/-/events")
		for id := range int64(10) {
			f.Watch(new(retrying(id, 1, 8*time.Hour)))
		}
		first := r.next()
		r.close()
		time.Sleep(7*time.Hour + time.Second) // 8 400 reminders
		r = w.read("/-/events", "Last-Event-ID", first.id)
		defer r.close()
		all := bodies(t, r.seen())
		if len(all) != 9+512 || all[0].Seq != 2 || all[8].Seq != 10 {
			t.Errorf("%d events: %s", len(all), describeAll(all[:min(len(all), 10)]))
		}
	})
}

func TestFeed_DisconnectsSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		conn, err := w.pipe.DialContext(t.Context(), "tcp", "")
		if err != nil {
			t.Fatalf("dial context: %v", err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /-/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait() // it does not even read the header
		for i := range 5000 {
			f.Watch(new(retrying(1, i+1, time.Second)))
		}
		buf := make([]byte, 1<<20)
		var got strings.Builder
		for !strings.Contains(got.String(), "0\r\n\r\n") {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			got.Write(buf[:n])
		}
		if text := got.String(); strings.Contains(text, "id:") || !strings.Contains(text, ": dropped: this reader is too slow") {
			t.Errorf("%s", text)
		}
	})
}

func TestFeed_DisconnectsStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f, Grace: time.Hour})
		conn, err := w.pipe.DialContext(t.Context(), "tcp", "")
		if err != nil {
			t.Fatalf("dial context: %v", err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /-/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait()
		before := time.Now()
		w.stop()
		if err := <-w.ended; err != nil || time.Since(before) > 31*time.Second {
			t.Errorf("it ends after %v with %v", time.Since(before), err)
		}
	})
}

func TestFeed_ManyReadersSeeTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := live.NewFeed()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		readers := make([]*reader, 100)
		for i := range readers {
			readers[i] = w.read("/-/events")
			defer readers[i].close()
		}
		for i := range 200 {
			f.Watch(new(retrying(int64(i), 1, time.Second)))
		}
		want := describeAll(bodies(t, readers[0].seen()))
		if !strings.HasSuffix(want, "200 retry 0 in 1000; ") {
			t.Errorf("%s", want)
		}
		for i, r := range readers[1:] {
			if describeAll(bodies(t, r.seen())) != want {
				t.Errorf("reader %d sees something else", i+1)
			}
		}
	})
}

func TestReaders_AreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, server.Config{Gateway: &fake{}})
		var first *reader
		for i := range 256 {
			r := w.read([]string{"/-/events", "/-/waits", "/-/upstreams"}[i%3])
			defer r.close()
			if first == nil {
				first = r
			}
		}
		resp, err := w.client.Get("http://localhost/-/events")
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("status %s", resp.Status)
		}
		first.close()
		synctest.Wait()
		w.read("/-/events").close()
		synctest.Wait()
		for range 300 { // a HEAD takes no place
			resp, err := w.client.Head("http://localhost/-/events")
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("response %v, error %v", resp, err)
			}
		}
	})
}

func BenchmarkFeed_CallWithoutRetry(b *testing.B) {
	f := live.NewFeed()
	events := []gateway.Event{happens(1, turn.Start{}), tried(1), happens(1, sealed)}
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			f.Watch(&e)
		}
	}
}

func BenchmarkFeed_Retry(b *testing.B) {
	f := live.NewFeed()
	e := retrying(1, 1, time.Second)
	b.ReportAllocs()
	for b.Loop() {
		f.Watch(&e)
	}
}

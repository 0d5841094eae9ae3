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
	"github.com/ridethrough/ridethrough/internal/server/feed"
	"github.com/ridethrough/ridethrough/policy"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

var busy = &fault.Error{Kind: fault.Overloaded, Status: 529, Message: "Overloaded"}

// retrying is the event of a call's try that failed and is followed by another.
func retrying(id int64, tries int, wait time.Duration) gateway.Event {
	return gateway.Event{Type: gateway.Retrying, At: time.Now(), Call: caller(id), Wait: policy.Wait{
		Run: policy.Run{Tries: tries}, Fault: busy, Verdict: policy.Verdict{Wait: wait}, Due: time.Now().Add(wait), Limit: 10, Waited: time.Duration(tries-1) * time.Minute,
	}}
}

func caller(id int64) gateway.Call {
	return gateway.Call{ID: id, Session: "s-1", API: "anthropic", Upstream: "work", Model: "claude"}
}

func happens(kind gateway.Type, id int64, n policy.Wait) gateway.Event {
	return gateway.Event{Type: kind, At: time.Now(), Call: caller(id), Wait: n}
}

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
		f := feed.New()
		r := run(t, server.Config{Gateway: &fake{}, Feed: f}).read("/-/events")
		defer r.close()
		for _, e := range []gateway.Event{
			happens(gateway.Began, 1, policy.Wait{}), happens(gateway.Tried, 1, policy.Wait{}), happens(gateway.Ended, 1, policy.Wait{}),
			retrying(2, 1, 5*time.Second), happens(gateway.Tried, 2, policy.Wait{}), retrying(2, 2, 10*time.Second),
			{Type: gateway.Switched, At: time.Now(), Call: caller(2), From: "first"},
			happens(gateway.Recovered, 2, policy.Wait{Run: policy.Run{Tries: 2}, Waited: 15 * time.Second}), happens(gateway.Ended, 2, policy.Wait{}),
			retrying(3, 1, time.Second), happens(gateway.GaveUp, 3, policy.Wait{Run: policy.Run{Tries: 3}, Fault: busy}), happens(gateway.Ended, 3, policy.Wait{}),
			happens(gateway.BrokeOff, 4, policy.Wait{Run: policy.Run{Tries: 1}, Fault: &fault.Error{Kind: fault.Truncated}}), happens(gateway.Ended, 4, policy.Wait{}),
			retrying(5, 1, time.Second), happens(gateway.Left, 5, policy.Wait{}), happens(gateway.Ended, 5, policy.Wait{}),
			retrying(6, 1, time.Second), happens(gateway.Ended, 6, policy.Wait{}), // the gateway is closed
			happens(gateway.Left, 7, policy.Wait{}),
		} {
			f.Watch(e)
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

func TestFeed_RemindsOfLongWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed.New()
		r := run(t, server.Config{Gateway: &fake{}, Feed: f}).read("/-/events")
		defer r.close()
		f.Watch(retrying(1, 5, 100*time.Second))
		f.Watch(retrying(2, 1, 30*time.Second))
		time.Sleep(2 * time.Minute)
		if got, want := describeAll(bodies(t, r.seen())), "1 retry 4 in 100000; 2 retry 0 in 30000; 3 waiting 70000; 4 waiting 40000; 5 waiting 10000; "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		f.Watch(retrying(1, 6, time.Hour))
		time.Sleep(45 * time.Second)
		f.Watch(happens(gateway.Tried, 1, policy.Wait{})) // a client sent "now"
		time.Sleep(time.Hour)
		if got, want := describeAll(bodies(t, r.seen())), "6 retry 5 in 3600000; 7 waiting 3570000; "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestFeed_ReconnectingReaderMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed.New()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		r := w.read("/-/events")
		f.Watch(retrying(1, 1, time.Second))
		first := r.next()
		r.close()
		for i := range 3 {
			f.Watch(retrying(1, i+2, time.Second))
		}
		r = w.read("/-/events", "Last-Event-ID", first.id)
		defer r.close()
		if got, want := describeAll(bodies(t, r.seen())), "2 retry 1 in 1000; 3 retry 2 in 1000; 4 retry 3 in 1000; "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		f.Watch(retrying(1, 5, time.Second))
		if got := describeAll(bodies(t, r.seen())); got != "5 retry 4 in 1000; " {
			t.Errorf("then live: %s", got)
		}
	})
}

func TestFeed_UnknownIDGetsReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed.New()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		r := w.read("/-/events")
		f.Watch(retrying(1, 1, time.Second))
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
			f.Watch(retrying(1, i+2, time.Second))
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
		f := feed.New()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		r := w.read("/-/events")
		for id := range int64(10) {
			f.Watch(retrying(id, 1, 8*time.Hour))
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
		f := feed.New()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		conn, err := w.pipe.DialContext(t.Context(), "tcp", "")
		if err != nil {
			t.Fatalf("dial context: %v", err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /-/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait() // it does not even read the header
		for i := range 5000 {
			f.Watch(retrying(1, i+1, time.Second))
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
		f := feed.New()
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
		f := feed.New()
		w := run(t, server.Config{Gateway: &fake{}, Feed: f})
		readers := make([]*reader, 100)
		for i := range readers {
			readers[i] = w.read("/-/events")
			defer readers[i].close()
		}
		for i := range 200 {
			f.Watch(retrying(int64(i), 1, time.Second))
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
	f := feed.New()
	events := []gateway.Event{happens(gateway.Began, 1, policy.Wait{}), happens(gateway.Tried, 1, policy.Wait{}), happens(gateway.Ended, 1, policy.Wait{})}
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			f.Watch(e)
		}
	}
}

func BenchmarkFeed_Retry(b *testing.B) {
	f := feed.New()
	e := retrying(1, 1, time.Second)
	b.ReportAllocs()
	for b.Loop() {
		f.Watch(e)
	}
}

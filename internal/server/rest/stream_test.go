package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/internal/server/rest"
	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

func TestFrame(t *testing.T) {
	for id, want := range map[string]string{"": "event: wait\ndata: {}\n\n", "7": "id: 7\nevent: wait\ndata: {}\n\n"} {
		var b bytes.Buffer
		if rest.Frame(&b, id, "wait", []byte("{}")); b.String() != want {
			t.Errorf("Frame with id %q: got %q, want %q", id, b.String(), want)
		}
	}
}

func TestAccepted(t *testing.T) {
	for accept, want := range map[string]string{
		"": "", "*/*": "", "application/json": "", "text/event-stream": rest.SSE, "text/html, application/x-ndjson;q=0.5": rest.NDJSON,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if got := rest.Accepted(r); got != want {
			t.Errorf("Accepted(%q) = %q, want %q", accept, got, want)
		}
	}
}

// events is a sequence of two events and an error; nil: none.
func events(err error) func(context.Context) iter.Seq2[wire.Event, error] {
	return func(context.Context) iter.Seq2[wire.Event, error] {
		return func(yield func(wire.Event, error) bool) {
			input := wire.InputQueued{Text: "hello"}
			if yield(wire.Event{Seq: 1, Body: input}, nil) && yield(wire.Event{Seq: 2, Body: wire.Reset{Reason: "gap"}}, nil) && err != nil {
				yield(wire.Event{}, err)
			}
		}
	}
}

func TestFollow_SendsEventsAndTheirError(t *testing.T) {
	const queued = `{"v":1,"seq":1,"ts":"0001-01-01T00:00:00Z","type":"input-queued","conversationId":"","turnId":"","text":"hello"}`
	const reset = `{"v":1,"seq":2,"ts":"0001-01-01T00:00:00Z","type":"reset","reason":"gap"}`
	const sse = "retry: 2000\n\nid: 1\nevent: input-queued\ndata: " + queued + "\n\nevent: reset\ndata: " + reset + "\n\n"
	for _, c := range []struct {
		kind string
		err  error
		want string
	}{
		{rest.NDJSON, nil, queued + "\n" + reset + "\n"},
		{rest.SSE, nil, sse},
		{rest.SSE, rest.ErrEnd, sse},
		{rest.SSE, rest.Problem(404, "no such conversation"), sse + `event: problem` + "\n" + `data: {"title":"Not Found","status":404,"code":"not-found","detail":"no such conversation"}` + "\n\n"},
	} {
		readers := rest.NewReaders(slog.New(slog.DiscardHandler))
		w := httptest.NewRecorder()
		items, stop := rest.Subscribe(t.Context(), events(c.err))
		s := readers.Begin(w, httptest.NewRequest("GET", "/", nil), c.kind)
		s.Follow(items)
		s.Close()
		stop()
		if got := w.Body.String(); got != c.want {
			t.Errorf("%s, error %v: got\n%s\nwant\n%s", c.kind, c.err, got, c.want)
		}
	}
}

func TestSubscribe_EventWithoutAFormInJSONIsAnError(t *testing.T) {
	wrong := wire.Event{Body: wire.Turn{Event: turn.ToolCall{ToolCall: llm.ToolCall{Arguments: json.RawMessage("{")}}}}
	items, stop := rest.Subscribe(t.Context(), func(context.Context) iter.Seq2[wire.Event, error] {
		return func(yield func(wire.Event, error) bool) {
			if yield(wrong, nil) {
				t.Error("the sequence goes on after an event that cannot be sent")
			}
		}
	})
	defer stop()
	if i := <-items; i.Err == nil {
		t.Errorf("the item of a call whose arguments are no JSON: got %s, want an error", i.JSON)
	}
}

func TestReaders_DrainEndsStreamsAndRefusesReaders(t *testing.T) {
	readers := rest.NewReaders(slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	s := readers.Open(w, httptest.NewRequest("GET", "/", nil))
	if s == nil {
		t.Fatal("the first reader is refused")
	}
	defer s.Close()
	if !readers.Drain() || readers.Drain() {
		t.Error("want Drain to report the first call")
	}
	if rest.Await(s, make(chan int)) || !strings.Contains(w.Body.String(), "shutting down") {
		t.Errorf("the stream goes on: %q", w.Body)
	}
	if w := httptest.NewRecorder(); readers.Admit(w) || w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("a reader is admitted while draining: %d", w.Code)
	}
}

func TestSubscribe_StopEndsTheSequence(t *testing.T) {
	ended := make(chan struct{})
	_, stop := rest.Subscribe(t.Context(), func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return func(func(wire.Event, error) bool) { <-ctx.Done(); close(ended) }
	})
	stop()
	<-ended
	if !rest.Ended(rest.ErrEnd) || rest.Ended(errors.New("x")) || rest.Ended(io.EOF) {
		t.Error("want Ended for ErrEnd only")
	}
}

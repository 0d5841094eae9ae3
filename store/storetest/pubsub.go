package storetest

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/store"
)

// publish publishes a text.
func publish(t *testing.T, s Subject, topic, text string) {
	t.Helper()
	if err := s.Publish(t.Context(), topic, []byte(text)); err != nil {
		t.Fatalf("publish on %s: %v", topic, err)
	}
}

// wantMessage checks the next message of a subscription.
func wantMessage(t *testing.T, messages <-chan store.Message, want store.Message) {
	t.Helper()
	if diff := cmp.Diff(want, receive(t, messages), bodies); diff != "" {
		t.Errorf("next message (-want +got):\n%s", diff)
	}
}

var pubSubCases = map[string]func(*testing.T, Subject){
	"subscribers receive publications and appends": func(t *testing.T, s Subject) {
		publish(t, s, "c1", "before")
		first, second := Subscribe(t, t.Context(), s, "c1"), Subscribe(t, t.Context(), s, "c1")
		publish(t, s, "c2", "elsewhere")
		publish(t, s, "c1", "hello")
		at := Append(t, s, "c1", store.Position{}, "a", "b")
		large := strings.Repeat("large ", 60<<10)
		at = Append(t, s, "c1", at, large)
		publish(t, s, "c1", "bye")
		for _, messages := range []<-chan store.Message{first, second} {
			wantMessage(t, messages, store.Message{Data: []byte("hello")})
			wantMessage(t, messages, store.Message{Records: Numbered(1, "a", "b")})
			wantMessage(t, messages, store.Message{Records: Numbered(3, large)})
			wantMessage(t, messages, store.Message{Data: []byte("bye")})
		}
		_, err := s.Append(t.Context(), "c1", store.Position{}, Records("x")...)
		WantError(t, "append behind an old end", err, store.ErrConflict)
		Append(t, s, "c1", at, "c")
		wantMessage(t, first, store.Message{Records: Numbered(4, "c")})
	},
	"a slow subscriber loses the oldest messages and sees a gap": func(t *testing.T, s Subject) {
		slow, quick := Subscribe(t, t.Context(), s, "c1"), Subscribe(t, t.Context(), s, "c1")
		for _, text := range names("text", 999) {
			publish(t, s, "c1", text)
			receive(t, quick)
		}
		publish(t, s, "c1", "last")
		gap, got := false, 0
		for last := false; !last; got++ {
			m := receive(t, slow)
			gap, last = gap || m.Gap, string(m.Data) == "last"
		}
		if !gap || got == 1000 {
			t.Errorf("received %d of 1000 messages, with a gap: %v", got, gap)
		}
		publish(t, s, "c1", "after")
		wantMessage(t, slow, store.Message{Data: []byte("after")})
	},
	"a canceled subscription receives nothing": func(t *testing.T, s Subject) {
		ctx, cancel := context.WithCancel(t.Context())
		messages := Subscribe(t, ctx, s, "c1")
		cancel()
		for m := range messages {
			t.Errorf("received %v", m)
		}
		publish(t, s, "c1", "hello")
	},
	"invalid publications are refused": func(t *testing.T, s Subject) {
		WantError(t, "topic", s.Publish(t.Context(), "a b", nil), store.ErrInvalid)
		WantError(t, "size", s.Publish(t.Context(), "a", bytes.Repeat([]byte("a"), 600<<10)), store.ErrTooLarge)
		_, err := s.Subscribe(t.Context(), ">")
		WantError(t, "subscribe", err, store.ErrInvalid)
	},
}

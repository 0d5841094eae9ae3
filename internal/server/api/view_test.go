package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
)

var noon = time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)

func TestOf_RoundTripsThroughJSON(t *testing.T) {
	want := conversation.View{
		ID: "c1", Settings: conversation.Settings{Model: "acme/large", Fallback: []string{"acme/small"}, Title: "Files"},
		Created: noon, Changed: noon.Add(time.Hour), Last: 7, Turn: "t1",
		Inputs: []conversation.Input{{ID: "i1", Text: "hello", At: noon, Steers: true}},
	}
	text, err := json.Marshal(api.Of(want, noon))
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var c api.Conversation
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("unmarshal %s: %v", text, err)
	}
	if diff := cmp.Diff(want, c.View()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", text, diff)
	}
}

func TestChangeTo_ReplacesAllSettings(t *testing.T) {
	want := conversation.Settings{Model: "acme/large", Fallback: []string{}, Effort: "low"}
	got := api.ChangeTo(want).To(conversation.Settings{Model: "acme/small", System: "Be kind.", Fallback: []string{"x/y"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
}

func TestChange_LeavesOutMembers(t *testing.T) {
	title := "Files"
	want := conversation.Settings{Model: "acme/small", Title: title}
	if diff := cmp.Diff(want, api.Change{Title: &title}.To(conversation.Settings{Model: "acme/small"})); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
}

func TestRemainingMs(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		want int64
	}{
		{noon.Add(1500 * time.Millisecond), 1500}, {noon, 0}, {noon.Add(-time.Second), 0}, {time.Time{}, 0},
	} {
		if got := api.RemainingMs(c.at, noon); got != c.want {
			t.Errorf("RemainingMs(%v) = %d, want %d", c.at, got, c.want)
		}
	}
}

package views_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/conversation"
	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/internal/server/views"
)

var noon = time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)

func TestOf_RoundTripsThroughJSON(t *testing.T) {
	want := conversation.View{
		ID: "c1", Settings: conversation.Settings{Model: "acme/large", Fallback: []string{"acme/small"}, Title: "Files"},
		Created: noon, Changed: noon.Add(time.Hour), Last: 7, Turn: "t1",
		Inputs: []conversation.Input{{ID: "i1", Text: "hello", At: noon, Steers: true}},
	}
	text, err := json.Marshal(views.Of(want, noon))
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var c api.Conversation
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("unmarshal %s: %v", text, err)
	}
	if diff := cmp.Diff(want, views.From(c)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", text, diff)
	}
}

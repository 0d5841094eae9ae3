package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ridethrough/ridethrough/internal/server/api"
	"github.com/ridethrough/ridethrough/wire"
)

var noon = time.Date(2026, time.November, 2, 12, 0, 0, 0, time.UTC)

func TestChangeTo_ReplacesAllSettings(t *testing.T) {
	want := wire.Settings{Model: "acme/large", Fallback: []string{}, Effort: "low"}
	got := api.ChangeTo(want).To(wire.Settings{Model: "acme/small", System: "Be kind.", Fallback: []string{"x/y"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
}

func TestChange_LeavesOutMembers(t *testing.T) {
	title := "Files"
	want := wire.Settings{Model: "acme/small", Title: title}
	if diff := cmp.Diff(want, api.Change{Title: &title}.To(wire.Settings{Model: "acme/small"})); diff != "" {
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

package store_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

func TestLoss_IsASentence(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.FixedZone("", 3600))
	for want, l := range map[string]store.Loss{
		"2026-11-22T09:00:00Z: 1 acknowledged message was lost of conversation c1 from record 3 on (number 6 of the stream)":               {Messages: 1, Conversation: "c1", N: 3, First: 6, Last: 6},
		"2026-11-22T09:00:00Z: 2 acknowledged messages were lost of conversation c1 from record 3 on (among numbers 6 to 9 of the stream)": {Messages: 2, Conversation: "c1", N: 3, First: 6, Last: 9},
		"2026-11-22T09:00:00Z: 1 acknowledged job was lost of turn t1":                                                                     {Messages: 1, Jobs: true, Turn: "t1"},
		"2026-11-22T09:00:00Z: 7 acknowledged jobs were lost":                                                                              {Messages: 7, Jobs: true},
	} {
		l.Noticed = at
		if got := l.String(); got != want {
			t.Errorf("loss %+v: got %q, want %q", l, got, want)
		}
	}
}

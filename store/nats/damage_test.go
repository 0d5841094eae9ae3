package nats_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// A server has lost a message of a log: reading names the record and continues after it.
func TestRead_ReportsAMissingRecord(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	s := dial(t, nats.Remote{URL: url})
	var at store.Position
	for n := range 5 {
		at = storetest.Append(t, s, "c1", at, "text"+strconv.Itoa(n))
	}
	stream, err := connect(t, url).Stream(t.Context(), "CONVERSATIONS")
	if err != nil {
		t.Fatalf("find the stream: %v", err)
	}
	if err := stream.DeleteMsg(t.Context(), 3); err != nil {
		t.Fatalf("delete a message: %v", err)
	}
	all, end, err := store.Load(t.Context(), s, "c1", 0)
	d, _ := errors.AsType[*store.Damage](err)
	if d == nil || d.N != 3 || d.Next != 4 || len(all) != 2 || end != at {
		t.Fatalf("load: got %d records, end %v and error %v; want 2, %v and damage in record 3", len(all), end, err, at)
	}
	storetest.WantLog(t, s, "c1", d.Next-1, append(storetest.Numbered(4, "text3"), storetest.Numbered(5, "text4")...)...)
}

package nats_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/storetest"
)

var long = flag.Bool("long", false, "also run what takes minutes")

const (
	shortLease = 2 * time.Second
	shortTick  = 300 * time.Millisecond // schedules are checked every 250 ms
)

// TestMain runs more tests in parallel than there are processors: they mostly
// wait for the server's clock. With a task in the environment the process is a
// worker that will be killed.
func TestMain(m *testing.M) {
	if encoded := os.Getenv(taskVariable); encoded != "" {
		os.Exit(runTask(encoded))
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set("10")
	}
	os.Exit(m.Run())
}

// closeStore closes a store that will be opened again.
func closeStore(t *testing.T, s store.Store) {
	t.Helper()
	if err := s.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// subject returns a store for the suite's helpers.
func subject(s store.Store) storetest.Subject {
	return storetest.Subject{Store: s, Lease: shortLease, Tick: shortTick}
}

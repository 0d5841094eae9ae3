package store_test

import (
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

// alone opens a store of one process until the test is over.
func alone(t testing.TB, c store.Config) store.Store {
	t.Helper()
	e, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(t.Context()) })
	return e
}

const (
	shortLease = 2 * time.Second
	shortTick  = 300 * time.Millisecond // schedules are looked at every 250 ms
)

func TestAStoreInADirectoryConforms(t *testing.T) {
	t.Parallel()
	conform(t, func(t *testing.T, name string, c func(*testing.T, world)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c(t, world{alone(t, store.Config{Dir: t.TempDir(), Lease: shortLease}), shortLease, shortTick})
		})
	})
}

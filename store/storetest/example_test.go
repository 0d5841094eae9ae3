package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// openDriver opens an empty store of the driver under test, until the test ends.
func openDriver(t *testing.T) storetest.Subject {
	s := store.Memory() // here: the driver's own function
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return storetest.Subject{
		Store: s,
		Lease: 30 * time.Second, // how long its leases last; one that can be shorter makes the suite faster
		Tick:  time.Second,      // by how much instants differ that it keeps apart
	}
}

// testConforms is the test of a driver that only waits for the clock: each case runs in virtual time, so that the
// leases expire at once.
func testConforms(t *testing.T) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Test(t, openDriver(t)) })
		})
	}
}

// testConformsOutside is the test of a driver that waits for a disk or for servers: the cases run side by side.
func testConformsOutside(t *testing.T) { storetest.Run(t, openDriver) }

// A driver is an implementation of store.Store. Its package has one of these two functions as a test.
func Example() {
	_ = testConforms
	_ = testConformsOutside
}

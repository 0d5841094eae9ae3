package store_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/store"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	conform(t, func(t *testing.T, name string, c func(*testing.T, world)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := store.Memory()
				defer func() { _ = e.Close(t.Context()) }()
				c(t, world{e, 30 * time.Second, time.Second})
			})
		})
	})
}

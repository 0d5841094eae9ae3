package store_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/storetest"
)

func TestMemory_Conforms(t *testing.T) {
	t.Parallel()
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := store.Memory()
				defer func() { _ = s.Close(t.Context()) }()
				c.Test(t, storetest.Subject{Store: s, Lease: 30 * time.Second, Tick: time.Second})
			})
		})
	}
}

func FuzzMemory_IDs(f *testing.F) {
	for _, id := range []string{"c1", "tenant.c-1_X", "", ".", "a..b", "*", ">", "a b", "a\x00", "ä", "$JS.API", "../../x", strings.Repeat("a", 129)} {
		f.Add(id)
	}
	form := regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	s := store.Memory()
	f.Fuzz(func(t *testing.T, id string) {
		valid := form.MatchString(id) && len(id) <= 128
		ctx := context.Background()
		_, endErr := s.End(ctx, id)
		_, getErr := s.Get(ctx, id)
		for _, err := range []error{endErr, getErr, s.Publish(ctx, id, nil), s.Unschedule(ctx, id)} {
			if valid != (err == nil) || err != nil && !errors.Is(err, store.ErrInvalid) {
				t.Errorf("id %q, valid %v: got error %v", id, valid, err)
			}
		}
	})
}

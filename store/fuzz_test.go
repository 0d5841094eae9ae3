package store_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/store"
)

func FuzzIDs(f *testing.F) {
	for _, id := range []string{"c1", "tenant.c-1_X", "", ".", "a..b", "*", ">", "a b", "a\x00", "ä", "$JS.API", "../../x", strings.Repeat("a", 129)} {
		f.Add(id)
	}
	form := regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	e := store.Memory()
	f.Fuzz(func(t *testing.T, id string) {
		good := form.MatchString(id) && len(id) <= 128
		_, err := e.End(context.Background(), id)
		published := e.Publish(context.Background(), id, nil)
		_, got := e.Get(context.Background(), id)
		for _, err := range []error{err, published, got, e.Unschedule(context.Background(), id)} {
			if good != (err == nil) || err != nil && !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// FuzzUnseal reads what no writer has written. What it takes for an entry
// continues the log that it stands in.
func FuzzUnseal(f *testing.F) {
	one, end, err := store.Seal("c1", store.Position{}, records("a", "b")...)
	if err != nil {
		f.Fatal(err)
	}
	two, _, _ := store.Seal("c1", end, records("c")...)
	f.Add(one)
	f.Add(two)
	f.Add([]byte(`{"n":1,"records":[{"n":1,"type":"a"},{"n":3,"type":"b"}]}`))
	f.Add([]byte(`{"n":9223372036854775807,"records":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, at := range []store.Position{{}, end} {
			got, next, err := store.Unseal("c1", at, data)
			if _, damaged := errors.AsType[*store.Damage](err); err != nil && !damaged {
				t.Fatal(err)
			}
			if err == nil && (len(got) == 0 || got[0].N != at.N+1 || next.N != got[len(got)-1].N || next.Hash == at.Hash) {
				t.Errorf("%v behind %v", got, at)
			}
		}
	})
}

func FuzzParts(f *testing.F) {
	f.Add("1 2 a,2 2 a", []byte("x"))
	f.Add("1 3 a,2 3 b,1 1 c", []byte("x"))
	f.Add("0 0 a,-1 -1 b,2 1 c,9999999999999999999 1 d,,1", []byte("x"))
	f.Fuzz(func(t *testing.T, headers string, data []byte) {
		all := strings.Split(headers, ",")
		if got := store.Join(all, data); len(got) > 0 && !bytes.HasPrefix(got, data) || len(got) > len(data)*len(all) {
			t.Errorf("%d bytes of %d parts", len(got), len(all))
		}
	})
}

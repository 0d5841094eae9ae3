package nats_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// FuzzDecodeEntry decodes what no writer has written. An accepted entry continues
// the log after its position.
func FuzzDecodeEntry(f *testing.F) {
	one, end, err := nats.EncodeEntry("c1", store.Position{}, storetest.Records("a", "b"))
	if err != nil {
		f.Fatalf("encode an entry: %v", err)
	}
	two, _, _ := nats.EncodeEntry("c1", end, storetest.Records("c"))
	f.Add(one)
	f.Add(two)
	f.Add([]byte(`{"n":1,"records":[{"n":1,"type":"a"},{"n":3,"type":"b"}]}`))
	f.Add([]byte(`{"n":9223372036854775807,"records":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, at := range []store.Position{{}, end} {
			got, next, err := nats.DecodeEntry("c1", at, 0, data)
			if _, damaged := errors.AsType[*store.Damage](err); err != nil && !damaged {
				t.Fatalf("decode behind %v: got error %v, want *store.Damage", at, err)
			}
			if err == nil && (len(got) == 0 || got[0].N != at.N+1 || next.N != got[len(got)-1].N || next.Hash == at.Hash) {
				t.Errorf("decode behind %v: got %v and the position %v", at, got, next)
			}
		}
	})
}

func FuzzJoinParts(f *testing.F) {
	f.Add("1 2 a,2 2 a", []byte("x"))
	f.Add("1 3 a,2 3 b,1 1 c", []byte("x"))
	f.Add("0 0 a,-1 -1 b,2 1 c,9999999999999999999 1 d,,1", []byte("x"))
	f.Fuzz(func(t *testing.T, headers string, data []byte) {
		all := strings.Split(headers, ",")
		if got := nats.JoinParts(all, data); len(got) > 0 && !bytes.HasPrefix(got, data) || len(got) > len(data)*len(all) {
			t.Errorf("join %q of %q: got %q", headers, data, got)
		}
	})
}

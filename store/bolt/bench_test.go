package bolt_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/ridethrough/ridethrough/internal/natstest"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/bolt"
	"github.com/ridethrough/ridethrough/store/nats"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// opener opens one store again and again.
type opener func(b *testing.B) store.Store

// benchStores benchmarks the store in a directory and, beside it, that on a NATS server which syncs each write as well.
func benchStores(b *testing.B, bench func(b *testing.B, open opener)) {
	b.Run("bolt", func(b *testing.B) {
		c := bolt.Config{Dir: b.TempDir(), Reserve: 1}
		bench(b, func(b *testing.B) store.Store { return open(b, c) })
	})
	b.Run("nats", func(b *testing.B) {
		url := natstest.Run(b, natstest.Options(b.TempDir())).ClientURL()
		bench(b, func(b *testing.B) store.Store {
			s, err := nats.Dial(b.Context(), nats.Remote{URL: url})
			if err != nil {
				b.Fatalf("dial: %v", err)
			}
			b.Cleanup(func() { _ = s.Close(context.Background()) })
			return s
		})
	})
}

const usualText = "a text of the usual length, which is some forty words or less"

// appendAll appends n records, each by one of some writers to a log of its own, some at a time.
func appendAll(b *testing.B, s store.Store, prefix string, writers, n int) {
	one := storetest.Records(usualText)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			var at store.Position
			for range n / writers {
				var err error
				if at, err = s.Append(b.Context(), prefix+strconv.Itoa(w), at, one...); err != nil {
					b.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 32, 256} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			benchStores(b, func(b *testing.B, open opener) {
				s, round := open(b), 0
				b.ReportAllocs()
				for b.Loop() {
					round++
					appendAll(b, s, fmt.Sprintf("c%d-", round), writers, writers)
				}
				b.ReportMetric(float64(writers*b.N)/b.Elapsed().Seconds(), "appends/s")
			})
		})
	}
}

const many = 10_000

// fill appends three records to each of many logs.
func fill(b *testing.B, s store.Store) {
	three := storetest.Records(usualText, usualText, usualText)
	var all sync.WaitGroup
	for part := range 64 {
		all.Go(func() {
			for i := part; i < many; i += 64 {
				if _, err := s.Append(b.Context(), fmt.Sprintf("c%05d", i), store.Position{}, three...); err != nil {
					b.Errorf("append: %v", err)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkOpenWith10000Logs(b *testing.B) {
	benchStores(b, func(b *testing.B, open opener) {
		s := open(b)
		fill(b, s)
		closeStore(b, s)
		for b.Loop() {
			closeStore(b, open(b))
		}
	})
}

func BenchmarkList10000Logs(b *testing.B) {
	benchStores(b, func(b *testing.B, open opener) {
		s := open(b)
		fill(b, s)
		for b.Loop() {
			n := 0
			for _, err := range s.Conversations(b.Context(), "") {
				if n++; err != nil {
					b.Fatalf("list: %v", err)
				}
			}
			if n != many {
				b.Fatalf("listed %d logs, want %d", n, many)
			}
		}
	})
}

func BenchmarkRead10000Records(b *testing.B) {
	benchStores(b, func(b *testing.B, open opener) {
		s, at := open(b), store.Position{}
		hundred := make([]string, 100)
		for i := range hundred {
			hundred[i] = usualText
		}
		for range many / len(hundred) {
			at = storetest.Append(b, s, "c1", at, hundred...)
		}
		b.ReportAllocs()
		for b.Loop() {
			if got, _, err := store.Load(b.Context(), s, "c1", 0); err != nil || len(got) != many {
				b.Fatalf("load: got %d records, %v; want %d", len(got), err, many)
			}
		}
	})
}

func BenchmarkEnqueueTakeAck(b *testing.B) {
	benchStores(b, func(b *testing.B, open opener) {
		s := open(b)
		b.ReportAllocs()
		for b.Loop() {
			storetest.Enqueue(b, s, storetest.Job("t1"))
			l, err := s.Take(b.Context())
			if err != nil {
				b.Fatalf("take: %v", err)
			}
			if err := l.Ack(); err != nil {
				b.Fatalf("acknowledge job: %v", err)
			}
		}
	})
}

//go:build unix

package jetstream_test

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/store/jetstream"
	"github.com/ridethrough/ridethrough/store/storetest"
)

// stores are what is measured: without a disk, and with one.
func stores(b *testing.B, measure func(b *testing.B, s storetest.Subject)) {
	for _, c := range []struct {
		name string
		open func(b *testing.B) store.Store
	}{
		{"memory", func(*testing.B) store.Store { return store.Memory() }},
		{"directory", func(b *testing.B) store.Store { return standalone(b, jetstream.Config{Dir: b.TempDir()}) }},
	} {
		b.Run(c.name, func(b *testing.B) { measure(b, storetest.Subject{Store: c.open(b)}) })
	}
}

func BenchmarkAppend(b *testing.B) {
	stores(b, func(b *testing.B, s storetest.Subject) {
		one, at := storetest.Records("a text of the usual length, which is some forty words or less"), store.Position{}
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if at, err = s.Append(b.Context(), "c1", at, one...); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLoad200Records(b *testing.B) {
	stores(b, func(b *testing.B, s storetest.Subject) {
		var at store.Position
		for _, text := range strings.Fields(strings.Repeat("text ", 200)) {
			at, _ = s.Append(b.Context(), "c1", at, storetest.Records(text)...)
		}
		b.ReportAllocs()
		for b.Loop() {
			if got, _, err := store.Load(b.Context(), s, "c1", 0); err != nil || len(got) != 200 {
				b.Fatal(len(got), err)
			}
		}
	})
}

func BenchmarkOfferTakeDone(b *testing.B) {
	stores(b, func(b *testing.B, s storetest.Subject) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Enqueue(b.Context(), storetest.Job("t1")); err != nil {
				b.Fatal(err)
			}
			c, err := s.Take(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := c.Ack(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPublishToAListener(b *testing.B) {
	stores(b, func(b *testing.B, s storetest.Subject) {
		heard, err := s.Subscribe(b.Context(), "c1")
		if err != nil {
			b.Fatal(err)
		}
		data := []byte("a piece of an answer")
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Publish(b.Context(), "c1", data); err != nil {
				b.Fatal(err)
			}
			<-heard
		}
	})
}

// crowded parks tickets for an instant, many at a time.
func crowded(b *testing.B, s storetest.Subject, n int, at time.Time) {
	var all sync.WaitGroup
	for part := range 64 {
		all.Go(func() {
			for i := part; i < n; i += 64 {
				if err := s.Schedule(b.Context(), storetest.Job("t"+strconv.Itoa(i)), at); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// heap is the memory that is in use.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkWithAHundredThousandParked measures a turn's way through the queue
// while many others are parked, and what those cost at rest.
func BenchmarkWithAHundredThousandParked(b *testing.B) {
	const many = 100_000
	s := storetest.Subject{Store: standalone(b, jetstream.Config{Dir: b.TempDir()})}
	before := heap()
	crowded(b, s, many, time.Now().Add(8*time.Hour))
	held := (heap() - before) / many
	spent := processor(b)
	<-time.After(5 * time.Second)
	rest := processor(b) - spent
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Enqueue(b.Context(), storetest.Job("other")); err != nil {
			b.Fatal(err)
		}
		c, err := s.Take(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Ack(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(held, "B/parked")
	b.ReportMetric(rest.Seconds()/5*100, "%cpu-at-rest")
}

// processor is the time that the processors have spent on us.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAppendWhileAThousandFallDue measures what others feel when many
// parked turns fall due at one instant and are taken.
func BenchmarkAppendWhileAThousandFallDue(b *testing.B) {
	const many = 1000
	s := storetest.Subject{Store: standalone(b, jetstream.Config{Dir: b.TempDir()})}
	var worst, last, mean time.Duration
	rounds := 0
	for b.Loop() {
		b.StopTimer()
		due := time.Now().Add(time.Second)
		crowded(b, s, many, due)
		<-time.After(time.Until(due))
		b.StartTimer()
		taken := make(chan struct{})
		go func() {
			defer close(taken)
			for range many {
				if c, err := s.Take(b.Context()); err != nil || c.Ack() != nil {
					b.Error(err)
					return
				}
			}
		}()
		longest, n := appending(b, s, "c"+strconv.Itoa(rounds), taken)
		worst, last, rounds = max(worst, longest), last+time.Since(due), rounds+1
		mean += time.Since(due) / time.Duration(max(n, 1))
	}
	b.ReportMetric(float64(worst.Microseconds())/1e3, "ms-longest-append")
	b.ReportMetric(float64(mean.Microseconds())/1e3/float64(rounds), "ms-mean-append")
	b.ReportMetric(float64(last.Milliseconds())/float64(rounds), "ms-until-all-taken")
}

// appending appends until something is closed, and gives the longest append and
// how many there were.
func appending(b *testing.B, s storetest.Subject, conversation string, until <-chan struct{}) (longest time.Duration, n int) {
	var at store.Position
	for {
		select {
		case <-until:
			return longest, n
		default:
		}
		began := time.Now()
		end, err := s.Append(b.Context(), conversation, at, storetest.Records("a")...)
		if err != nil {
			b.Error(err)
			return longest, n
		}
		at, n = end, n+1
		longest = max(longest, time.Since(began))
	}
}

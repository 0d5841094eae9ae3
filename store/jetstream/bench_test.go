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

// benchStores benchmarks a store in memory and one in a directory.
func benchStores(b *testing.B, bench func(b *testing.B, s storetest.Subject)) {
	for _, c := range []struct {
		name string
		open func(b *testing.B) store.Store
	}{
		{"memory", func(*testing.B) store.Store { return store.Memory() }},
		{"directory", func(b *testing.B) store.Store { return standalone(b, jetstream.Config{Dir: b.TempDir()}) }},
	} {
		b.Run(c.name, func(b *testing.B) { bench(b, storetest.Subject{Store: c.open(b)}) })
	}
}

func BenchmarkAppend(b *testing.B) {
	benchStores(b, func(b *testing.B, s storetest.Subject) {
		one, at := storetest.Records("a text of the usual length, which is some forty words or less"), store.Position{}
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if at, err = s.Append(b.Context(), "c1", at, one...); err != nil {
				b.Fatalf("append: %v", err)
			}
		}
	})
}

func BenchmarkLoad200Records(b *testing.B) {
	benchStores(b, func(b *testing.B, s storetest.Subject) {
		var at store.Position
		for _, text := range strings.Fields(strings.Repeat("text ", 200)) {
			at, _ = s.Append(b.Context(), "c1", at, storetest.Records(text)...)
		}
		b.ReportAllocs()
		for b.Loop() {
			if got, _, err := store.Load(b.Context(), s, "c1", 0); err != nil || len(got) != 200 {
				b.Fatalf("load: got %d records, %v; want 200", len(got), err)
			}
		}
	})
}

func BenchmarkEnqueueTakeAck(b *testing.B) {
	benchStores(b, func(b *testing.B, s storetest.Subject) {
		b.ReportAllocs()
		for b.Loop() {
			enqueueTakeAck(b, s, "t1")
		}
	})
}

// enqueueTakeAck takes a job through the queue.
func enqueueTakeAck(b *testing.B, s storetest.Subject, turn string) {
	storetest.Enqueue(b, s, storetest.Job(turn))
	l, err := s.Take(b.Context())
	if err != nil {
		b.Fatalf("take: %v", err)
	}
	if err := l.Ack(); err != nil {
		b.Fatalf("acknowledge job: %v", err)
	}
}

func BenchmarkPublishToSubscriber(b *testing.B) {
	benchStores(b, func(b *testing.B, s storetest.Subject) {
		messages := storetest.Subscribe(b, b.Context(), s, "c1")
		data := []byte("a piece of an answer")
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Publish(b.Context(), "c1", data); err != nil {
				b.Fatalf("publish: %v", err)
			}
			<-messages
		}
	})
}

// scheduleMany schedules jobs for one instant, 64 at a time.
func scheduleMany(b *testing.B, s storetest.Subject, n int, at time.Time) {
	var all sync.WaitGroup
	for part := range 64 {
		all.Go(func() {
			for i := part; i < n; i += 64 {
				if err := s.Schedule(b.Context(), storetest.Job("t"+strconv.Itoa(i)), at); err != nil {
					b.Errorf("schedule job %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
}

// heap returns the bytes in use.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkQueueWith100000Scheduled measures a job's way through the queue while
// many others are scheduled, and what those cost at rest.
func BenchmarkQueueWith100000Scheduled(b *testing.B) {
	const many = 100_000
	s := storetest.Subject{Store: standalone(b, jetstream.Config{Dir: b.TempDir()})}
	before := heap()
	scheduleMany(b, s, many, time.Now().Add(8*time.Hour))
	perJob := (heap() - before) / many
	spent := cpuTime(b)
	<-time.After(5 * time.Second)
	rest := cpuTime(b) - spent
	b.ReportAllocs()
	for b.Loop() {
		enqueueTakeAck(b, s, "other")
	}
	b.ReportMetric(perJob, "B/scheduled")
	b.ReportMetric(rest.Seconds()/5*100, "%cpu-at-rest")
}

// cpuTime returns the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatalf("getrusage: %v", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAppendWhile1000BecomeDue measures appends while many jobs become due at
// one instant and are taken.
func BenchmarkAppendWhile1000BecomeDue(b *testing.B) {
	const many = 1000
	s := storetest.Subject{Store: standalone(b, jetstream.Config{Dir: b.TempDir()})}
	var worst, last, mean time.Duration
	rounds := 0
	for b.Loop() {
		b.StopTimer()
		due := time.Now().Add(time.Second)
		scheduleMany(b, s, many, due)
		<-time.After(time.Until(due))
		b.StartTimer()
		taken := make(chan struct{})
		go func() {
			defer close(taken)
			for range many {
				l, err := s.Take(b.Context())
				if err == nil {
					err = l.Ack()
				}
				if err != nil {
					b.Errorf("take and acknowledge: %v", err)
					return
				}
			}
		}()
		longest, n := appendUntil(b, s, "c"+strconv.Itoa(rounds), taken)
		worst, last, rounds = max(worst, longest), last+time.Since(due), rounds+1
		mean += time.Since(due) / time.Duration(max(n, 1))
	}
	b.ReportMetric(float64(worst.Microseconds())/1e3, "ms-longest-append")
	b.ReportMetric(float64(mean.Microseconds())/1e3/float64(rounds), "ms-mean-append")
	b.ReportMetric(float64(last.Milliseconds())/float64(rounds), "ms-until-all-taken")
}

// appendUntil appends until a channel is closed, and returns the time of the
// longest append and the number of appends.
func appendUntil(b *testing.B, s storetest.Subject, conversation string, until <-chan struct{}) (longest time.Duration, n int) {
	var at store.Position
	for {
		select {
		case <-until:
			return longest, n
		default:
		}
		start := time.Now()
		end, err := s.Append(b.Context(), conversation, at, storetest.Records("a")...)
		if err != nil {
			b.Errorf("append: %v", err)
			return longest, n
		}
		at, n = end, n+1
		longest = max(longest, time.Since(start))
	}
}

//go:build unix

package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ridethrough/ridethrough/gateway"
	"github.com/ridethrough/ridethrough/internal/server"
)

// BenchmarkLive_ThreeReadersThousandWaits measures three readers of a thousand waits, some of which change
// every quarter of a second: in percent of a core, the changes included. An iteration is a quarter of a
// second.
func BenchmarkLive_ThreeReadersThousandWaits(b *testing.B) {
	for _, change := range []int{0, 25, 250, 1000} {
		b.Run(fmt.Sprintf("%d change", change), func(b *testing.B) {
			g := &fake{upstreams: []gateway.Health{{Name: "work"}}}
			waits := make([]gateway.Wait, 1000)
			for i := range waits {
				waits[i] = waiting(int64(i), time.Hour)
			}
			g.show(waits, g.upstreams)
			spare := slices.Clone(waits)
			s := server.New(server.Config{Gateway: g})
			ctx, cancel := context.WithCancel(b.Context())
			var readers sync.WaitGroup
			for range 3 {
				r := request("GET", "/-/live", "").WithContext(ctx)
				readers.Go(func() { s.ServeHTTP(flushed{null{http.Header{}}}, r) })
			}
			tick := time.NewTicker(250 * time.Millisecond)
			defer tick.Stop()
			began, used := time.Now(), cpu(b)
			for n := 0; b.Loop(); n++ {
				<-tick.C
				copy(spare, waits)
				waits, spare = spare, waits
				for i := range change {
					waits[(n*change+i)%1000].Run.Tries++
				}
				g.show(waits, g.upstreams)
			}
			b.ReportMetric(100*(cpu(b)-used).Seconds()/time.Since(began).Seconds(), "%core")
			cancel()
			readers.Wait()
		})
	}
}

// cpu returns the processor time that the process has used.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatalf("getrusage: %v", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

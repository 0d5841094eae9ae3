package gatewaycmd

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/ridethrough/ridethrough/internal/cli/command"
)

// collectRarely has the heap triple between two collections, unless the user has set GOGC. It is small beside what
// requests allocate, so that collecting it each time it has doubled takes much of the processor time of a small one:
// of the bench's rows it is 1 KB over HTTP/2 that this helps. A memory limit (GOMEMLIMIT) holds all the same.
func collectRarely(env func(string) string) {
	if env("GOGC") == "" {
		debug.SetGCPercent(rareCollections)
	}
}

const rareCollections = 200

// A crowd has at least this many goroutines: each call and each connection has some.
const (
	crowded = 2000
	looks   = 10 * time.Second
)

// returnMemory returns memory that a crowd no longer needs, until stop is called. Go itself does so minutes after
// most calls have left, and while all wait only once the heap has tripled.
func returnMemory(ctx context.Context) (stop func()) {
	var last look
	return command.Every(ctx, looks, func() {
		var useless bool
		if last, useless = last.next(lookAt()); useless {
			runtime.GC() // what is in pools survives the first collection
			debug.FreeOSMemory()
			last = lookAt()
		}
	})
}

type look struct {
	goroutines, collections uint64
	heap, live              uint64 // with what is not collected so far, and after the latest collection
}

func lookAt() look {
	seen := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(seen)
	return look{seen[0].Value.Uint64(), seen[1].Value.Uint64(), seen[2].Value.Uint64(), seen[3].Value.Uint64()}
}

// next compares a look with the one before. It returns the look to compare the next one with, and whether the crowd
// has memory that it no longer needs: most calls have left, or they wait and Go does not collect.
func (l look) next(now look) (after look, useless bool) {
	left := l.goroutines >= crowded && now.goroutines < l.goroutines/2
	waits := now.goroutines >= crowded && now.collections == l.collections && now.heap > now.live+now.live/8
	if !left && !waits {
		now.goroutines = max(now.goroutines, l.goroutines)
	}
	return now, left || waits
}

// Command profiled is ridethrough with profiles, for the benchmark only: what
// is shipped has none. Its first argument is the files' name without ending, its
// second how many bytes are allocated, on average, between two samples of the
// memory; 0: Go's own. A processor profile is written when it ends, one of the
// memory at SIGUSR1.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"

	"github.com/ridethrough/ridethrough/internal/cli"
)

func main() {
	code, err := run(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "profiled:", err)
		code = 1
	}
	os.Exit(code)
}

func run(name, every string) (int, error) {
	rate, err := strconv.Atoi(every)
	if err != nil {
		return 0, err
	}
	if rate > 0 {
		runtime.MemProfileRate = rate
	}
	f, err := os.Create(name + ".cpu")
	if err != nil {
		return 0, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go memory(name, asked)
	os.Args = append(os.Args[:1], os.Args[3:]...)
	code := cli.Main()
	pprof.StopCPUProfile()
	return code, f.Close()
}

// memory writes a profile of the memory each time it is asked to, and what no
// profile shows: how much of it are stacks, garbage and room.
func memory(name string, asked <-chan os.Signal) {
	for range asked {
		f, err := os.Create(name + ".heap")
		if err == nil {
			err = errors.Join(pprof.WriteHeapProfile(f), f.Close(), os.WriteFile(name+".mem", sizes(), 0o644))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "profiled:", err)
		}
	}
}

// sizes sums the memory up, in KB.
func sizes() []byte {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Appendf(nil, "goroutines %d, stacks %d, heap: objects %d, spans in use %d, idle %d, given back %d; live after the last collection about %d\n",
		runtime.NumGoroutine(), m.StackInuse>>10, m.HeapAlloc>>10, m.HeapInuse>>10, (m.HeapIdle-m.HeapReleased)>>10, m.HeapReleased>>10, m.NextGC>>11)
}

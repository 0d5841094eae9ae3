// Command profiled is ridethrough with profiles, for the benchmark only: what
// is shipped has none. Its first argument is the files' name without ending;
// a processor profile is written when it ends, one of the heap at SIGUSR1.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/ridethrough/ridethrough/internal/cli"
)

func main() {
	code, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "profiled:", err)
		code = 1
	}
	os.Exit(code)
}

func run(name string) (int, error) {
	f, err := os.Create(name + ".cpu")
	if err != nil {
		return 0, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go heap(name+".heap", asked)
	os.Args = append(os.Args[:1], os.Args[2:]...)
	code := cli.Main()
	pprof.StopCPUProfile()
	return code, f.Close()
}

// heap writes a profile of the memory each time it is asked to.
func heap(name string, asked <-chan os.Signal) {
	for range asked {
		f, err := os.Create(name)
		if err == nil {
			_ = pprof.WriteHeapProfile(f)
			err = f.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "profiled:", err)
		}
	}
}

package tui_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// Tests in a real terminal depend on the machine: -args -load 5 runs them beside five busy loops.
var load = flag.Int("load", 0, "how many processes compute beside the tests")

// busyVariable makes the test binary one of these processes.
const busyVariable = "RIDETHROUGH_TEST_BUSY"

func TestMain(m *testing.M) {
	if os.Getenv(busyVariable) != "" {
		compute()
	}
	flag.Parse()
	ends, err := startLoad(*load)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the load:", err)
		os.Exit(1)
	}
	code := m.Run()
	for _, end := range ends {
		end()
	}
	os.Exit(code)
}

// startLoad starts n processes that compute, and returns what ends each of them. They end with this process too.
func startLoad(n int) (ends []func(), err error) {
	for range n {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), busyVariable+"=1", "GOMAXPROCS=1")
		in, err := c.StdinPipe()
		if err != nil {
			return ends, err
		}
		if err := c.Start(); err != nil {
			return ends, err
		}
		ends = append(ends, func() { _, _ = in.Close(), c.Wait() })
	}
	return ends, nil
}

// compute uses a processor until the standard input ends.
func compute() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for n := uint64(1); ; n = n*6364136223846793005 + 1 {
		if n == 0 {
			fmt.Println()
		}
	}
}

package store_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets tests run side by side that mostly wait for the server's clock.
// With a job in the environment the process is one that will be killed.
func TestMain(m *testing.M) {
	if j := os.Getenv(jobVariable); j != "" {
		os.Exit(labour(j))
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set("10")
	}
	os.Exit(m.Run())
}

package engine_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets tests run side by side that mostly wait for the server's clock.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == f.DefValue {
		_ = f.Value.Set("16")
	}
	os.Exit(m.Run())
}

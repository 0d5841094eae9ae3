package storetest_test

import "testing"

// The test in the example passes.
func TestCases_ExampleConforms(t *testing.T) {
	t.Parallel()
	testConforms(t)
}

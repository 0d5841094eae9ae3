//go:build race

package lab_test

// raced reports whether the race detector is on, which makes the tests ten times
// slower.
const raced = true

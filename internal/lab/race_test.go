//go:build race

package lab_test

// raced tells that the test looks for races, which makes everything ten times
// slower.
const raced = true

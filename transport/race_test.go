//go:build race

package transport_test

// raced reports whether the race detector is on, which makes the simulations of hundreds of thousands of requests
// take minutes.
const raced = true

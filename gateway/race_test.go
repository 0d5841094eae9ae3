//go:build race

package gateway_test

// raced reports whether the race detector is on. Breaking answers off one after the other at thousands of bytes tells it
// nothing new after the first of them, and takes minutes.
const raced = true

// callers is how many share an outage.
const callers = 100

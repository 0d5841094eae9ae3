//go:build !(linux || darwin || freebsd)

package store

import "math"

// space is not known here: the server finds out by itself.
func space(string) (int64, error) { return math.MaxInt64 / 2, nil }

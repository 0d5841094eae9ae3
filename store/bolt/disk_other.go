//go:build !(linux || darwin || freebsd)

package bolt

import "math"

// freeBytes is not known on this system: the server notices a full disk by itself.
func freeBytes(string) (int64, error) { return math.MaxInt64 / 2, nil }

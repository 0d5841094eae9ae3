//go:build !(linux || darwin || freebsd)

package disk

import "math"

// Free is not known on this system: the server notices a full disk by itself.
func Free(string) (int64, error) { return math.MaxInt64 / 2, nil }

//go:build !unix

package disk

import "os"

// LockFile does nothing on systems without such locks.
func LockFile(*os.File) error { return nil }

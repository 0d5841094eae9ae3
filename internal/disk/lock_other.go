//go:build !unix

package disk

import "os"

// LockFile does nothing on systems without such locks.
func LockFile(*os.File) error { return nil }

// Unlock closes a file.
func Unlock(f *os.File) error { return f.Close() }

//go:build !unix

package disk

import "os"

// Lock does nothing on systems without such locks.
func Lock(*os.File) error { return nil }

//go:build unix

package tool

import "syscall"

// Flags for opening what may have been replaced a moment ago.
const (
	noWait        = syscall.O_NONBLOCK // a pipe is opened without waiting for a writer
	onlyDirectory = syscall.O_DIRECTORY
)

//go:build !unix

package tool

// No such flags exist, and no files that block when they are opened.
const (
	noWait        = 0
	onlyDirectory = 0
)

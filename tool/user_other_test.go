//go:build unix && !linux

package tool_test

// dropRights reports that it cannot change the user of one thread.
func dropRights() bool { return false }

//go:build unix && !linux

package tool_test

// actAsNobody reports that it cannot change the user of one thread.
func actAsNobody() bool { return false }

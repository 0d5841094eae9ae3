package tool_test

import "syscall"

// actAsNobody makes the calling thread access files as a user without rights.
func actAsNobody() bool { return syscall.Setfsuid(65534) == nil }

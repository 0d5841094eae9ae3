package tool_test

import "syscall"

// dropRights makes the calling thread access files as a user without rights.
func dropRights() bool { return syscall.Setfsuid(65534) == nil }

//go:build !unix

package http1

const systemCalls = false

func (*conn) tryPeek(uintptr) bool { return true }
func (*conn) tryRead(uintptr) bool { return true }

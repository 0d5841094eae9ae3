//go:build !unix

package http1

const kernel = false

func (*conn) peek(uintptr) bool   { return true }
func (*conn) arrive(uintptr) bool { return true }
